"""`SecondLook`: the part of a graph in which some layers look only at the words that those below left in doubt.

In: states of all pieces after a glance, and the weights of its branches and of the last ones. Out: the rows that ask,
which layers compute anew, and log-probabilities per task: of these words by the last states, of the others by the
glance.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import helper

from interpunct.export.rows import Rows


class SecondLook:
    """Rows of all pieces, and of those that ask."""

    places = "asking_places"
    """The places of each window that ask (windows × places)."""

    def __init__(self, rows: Rows, states: str, sizes: Mapping[str, int], doubted: int) -> None:
        """Choose the rows: `doubted` percent of each window's pieces, where a task of these `sizes` is least sure."""
        self._rows, self._graph, self._sizes, self._layers = rows, rows.graph, sizes, 0
        self.states = states
        self._glanced = self._logits("glance_", "glances", states)
        self._choose(self._doubt(), doubted)
        self.asking = rows.graph.add("Gather", [states, "asking_rows"], "asking", axis=0)

    def _logits(self, begin: str, branches: str, states: str) -> str:
        """Write all tasks' logits side by side."""
        graph, weights = self._graph, self._rows.weights
        matrices, biases = [], []
        for task in self._sizes:
            matrices.append(graph.constant(f"{begin}{task}_matrix", weights[f"{branches}.{task}.weight"].T))
            biases.append(graph.constant(f"{begin}{task}_bias", weights[f"{branches}.{task}.bias"]))
        matrix = graph.add("Concat", matrices, f"{begin}matrix", axis=1)
        bias = graph.add("Concat", biases, f"{begin}bias", axis=0)
        return graph.add("Add", [graph.add("MatMul", [states, matrix], f"{begin}product"), bias], f"{begin}logits")

    def _apart(self, name: str, logits: str) -> list[str]:
        """Write the split of logits into those of each task."""
        found = [f"{name}_{task}" for task in self._sizes]
        sizes = self._graph.constant(f"{name}_sizes", np.array(list(self._sizes.values())))
        self._graph.nodes.append(helper.make_node("Split", [logits, sizes], found, axis=-1))
        return found

    def _doubt(self) -> str:
        """Write how unsure the glance is (windows × pieces): nowhere but at the last pieces of words."""
        graph = self._graph
        sure = []
        for logits in self._apart("glanced", self._glanced):
            chances = graph.add("Softmax", [logits], f"{logits}_chances", axis=-1)
            sure.append(graph.add("ReduceMax", [chances], f"{logits}_sure", axes=[-1], keepdims=0))
        least = graph.add("Min", sure, "least_sure")
        unsure = graph.add("Sub", [self._rows.number("all_sure", 1), least], "unsure")
        nowhere = graph.add("Expand", [self._rows.number("no_word", 0), "shape"], "nowhere")
        words_shape = graph.add("Shape", ["words"], "words_shape")
        ones = graph.add("Expand", ["all_sure", words_shape], "a_word_each")
        # A padded word points at the first piece, which may be in the middle of a word.
        first = graph.add("Gather", ["words", "zero"], "first_words", axis=1)
        padded = graph.add("Equal", ["words", "zero"], "words_at_the_first_piece")
        words = graph.add("Where", [padded, first, "words"], "words_without_padding")
        at_words = graph.add("ScatterElements", [nowhere, words, ones], "where_words_are", axis=1)
        return graph.add("Mul", [at_words, graph.add("Reshape", [unsure, "shape"], "unsure_pieces")], "doubt")

    def _choose(self, doubt: str, doubted: int) -> None:
        """Write which rows ask, and which of them count: of a window with padding no more than of it alone."""
        graph = self._graph
        second = graph.constant("second_axis", np.array([1]))
        share, whole = (graph.constant(name, np.array(value)) for name, value in (("share", doubted), ("whole", 100)))
        almost = graph.constant("almost_one", np.array(99))

        def share_of(pieces: str) -> str:
            some = graph.add("Add", [graph.add("Mul", [pieces, share], f"{pieces}_times"), almost], f"{pieces}_above")
            return graph.add("Div", [some, whole], f"{pieces}_share")

        found = ["greatest", self.places]
        graph.nodes.append(helper.make_node("TopK", [doubt, share_of("count")], found, axis=1))
        ranks = graph.add("Range", ["zero", "count_share", "one"], "ranks")
        enough = graph.add("Less", [ranks, graph.add("Unsqueeze", [share_of("lengths"), second], "shares")], "enough")
        words = graph.add("Greater", ["greatest", "no_word"], "of_words")
        rows = graph.constant("each_row", np.array([-1, 1]))
        graph.add("Reshape", [graph.add("And", [words, enough], "places_count_here"), rows], "counted")
        windows = graph.add("Gather", ["shape", "zero"], "window_count")
        numbers = graph.add("Range", ["zero", windows, "one"], "window_numbers")
        begins = graph.add("Unsqueeze", [graph.add("Mul", [numbers, "count"], "window_begins"), second], "begins")
        graph.add("Reshape", [graph.add("Add", [self.places, begins], "asking_in_rows"), rows], "asking_indices")
        graph.add("Squeeze", ["asking_indices", second], "asking_rows")
        graph.add("Shape", ["asking_rows"], "asking_count")
        places_shape = graph.add("Shape", [self.places], "places_shape")
        graph.add("Concat", [places_shape, self._rows.attended_width], "asking_shape", axis=0)

    def add(self, asking: str) -> None:
        """Take what a layer computed; all others of the states stay as they were."""
        self._layers += 1
        graph, number = self._graph, self._layers
        self.asking = graph.add("Where", ["counted", asking, self.asking], f"asking_{number}")
        self.states = graph.add("ScatterND", [self.states, "asking_indices", self.asking], f"states_{number}")

    def branches(self) -> None:
        """End in the tasks' log-probabilities."""
        graph = self._graph
        before = graph.add("Gather", [self._glanced, "asking_rows"], "asking_glanced", axis=0)
        again = graph.add("Where", ["counted", self._logits("", "heads", self.asking), before], "asking_again")
        logits = graph.add("ScatterND", [self._glanced, "asking_indices", again], "last_logits")
        size = graph.constant("logits_size", np.array([sum(self._sizes.values())]))
        shape = graph.add("Concat", ["shape", size], "logits_shape", axis=0)
        at_words = graph.at_words(graph.add("Reshape", [logits, shape], "logits_of_pieces"))
        for task, found in zip(self._sizes, self._apart("last", at_words), strict=True):
            graph.add("LogSoftmax", [found], task, axis=-1)
