"""`Branch`: what times and sound add to a text model's marks, run without torch.

In: a text model's scores of tokens, block after block, and the prosody of the document's places. Out: the same scores,
in which the marks' log-probabilities are moved by a small network: log-softmax(text + gate × change). The gate, between
0 and 1, and the change are read from the text model's opinion of the place and from the prosody there and at the two
places beside it. Where nothing is known of a place the text model's scores stay as they were, bit for bit. The network
is `prosody.onnx` in the text model's folder, and fits no other model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interpunct.errors import ModelError
from interpunct.features.prosody_table import NAMES
from interpunct.labels import SENTENCE_MARKS
from interpunct.models.scores import Array, Scores
from interpunct.models.session import open_session

if TYPE_CHECKING:
    import onnxruntime

    from interpunct.features.prosody import Prosody

BRANCH = "prosody.onnx"
ROWS = (-1, 0, 1)
"""The places that are looked at, from the one decided on."""
MARKS_KEY, NAMES_KEY = "marks", "features"
"""Under which names the file says for which marks and features it was made."""

_AT_ONCE = 2048  # places in one run: 8 MB of numbers
_CERTAIN = np.float32(0.999)


class Branch:
    """The network of one model, ready to run."""

    def __init__(self, session: onnxruntime.InferenceSession, labels: Mapping[str, tuple[str, ...]]) -> None:
        self._session = session
        self._ends = [index for index, mark in enumerate(labels["mark"]) if mark in SENTENCE_MARKS]
        cases = labels.get("case", ())
        self._lower = cases.index("lower") if "lower" in cases else None

    @classmethod
    def load(cls, folder: Path, labels: Mapping[str, tuple[str, ...]], *, threads: int | None = None) -> Branch | None:
        """Read the branch in a model's folder, if there is one; `labels` are the model's."""
        path = folder / BRANCH
        if not path.exists():
            return None
        # So small a network gains nothing from more threads.
        session = open_session(path, threads=threads or 1, remedy="train the branch again")
        about = session.get_modelmeta().custom_metadata_map
        for key, wanted in ((MARKS_KEY, labels.get("mark", ())), (NAMES_KEY, NAMES)):
            if json.loads(about.get(key, "[]")) != list(wanted):
                raise ModelError(f"{path}: made for other {key} than this model's; train the branch again")
        return cls(session, labels)

    def follow(self, prosody: Prosody) -> Following:
        """Begin with a document of this prosody."""
        return Following(self, prosody)

    def marks(self, logs: Array, prosody: Prosody, begin: int = 0) -> Array:
        """Return the log-probabilities of marks at the places from `begin` on, of which `logs` are the text model's."""
        places = np.flatnonzero(prosody.known[begin : begin + len(logs)].any(axis=1))
        found = logs.copy()
        for first in range(0, len(places), _AT_ONCE):
            chosen = places[first : first + _AT_ONCE]
            values, known = surrounding(prosody, chosen + begin)
            feed = {"logs": logs[chosen], "values": values, "known": known}
            found[chosen] = self._session.run(["mark"], feed)[0]
        return found

    def ends(self, logs: Array) -> Array:
        """Return the probability of a mark that ends a sentence."""
        found: Array = np.exp(logs[:, self._ends]).sum(axis=1)
        return found

    def cases(self, logs: Array, before: Array, after: Array) -> Array:
        """Return cases' log-probabilities where sentence ends in front of the words have become less likely.

        `before` and `after` are the ends' probabilities. After an end nothing is lower: what the text model says of a
        word that does not begin a sentence is P(lower) / (1 - P(end)).
        """
        if self._lower is None:
            return logs
        lower = np.exp(logs[:, self._lower])
        alone = np.minimum(lower / (1 - np.minimum(before, _CERTAIN)), _CERTAIN)
        changed = np.maximum(lower, alone * (1 - after))
        moved = np.flatnonzero((after < before) & (changed > lower))
        found = logs.copy()
        found[moved] += np.log((1 - changed[moved]) / np.maximum(1 - lower[moved], np.float32(1e-12)))[:, None]
        found[moved, self._lower] = np.log(changed[moved])
        return found


class Following:
    """One document on its way: its scores come block after block."""

    def __init__(self, branch: Branch, prosody: Prosody) -> None:
        self._branch = branch
        self._prosody = prosody
        self._done = 0
        self._last: tuple[Array, Array] = np.zeros(1, np.float32), np.zeros(1, np.float32)

    def take(self, scores: Scores) -> Scores:
        """Return the next tokens' scores with what is heard at them."""
        if "mark" not in scores.tasks:
            return scores
        text = scores.tasks["mark"]
        heard = self._branch.marks(text, self._prosody, self._done)
        self._done += len(text)
        tasks: dict[str, Array] = {**scores.tasks, "mark": heard}
        before, after = self._branch.ends(text), self._branch.ends(heard)
        if "case" in tasks and len(text):
            in_front = (np.concatenate([old, new[:-1]]) for old, new in zip(self._last, (before, after), strict=True))
            tasks["case"] = self._branch.cases(tasks["case"], *in_front)
            self._last = before[-1:], after[-1:]
        # What the text model chose together was chosen without what is heard.
        best = {task: labels for task, labels in scores.best.items() if task not in ("mark", "case")}
        return Scores(tasks, scores.transitions, best)


def surrounding(prosody: Prosody, places: Any) -> tuple[Array, Array]:
    """Return values and known flags (places × 3 rows of features) of places and their neighbours."""
    count = len(prosody)
    rows = places[:, None] + np.array(ROWS)
    inside = (rows >= 0) & (rows < count)
    rows = np.where(inside, rows, 0)
    there = prosody.known[rows] & inside[:, :, None]
    shape = (*rows.shape, len(NAMES))
    values, known = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    columns = [NAMES.index(name) for name in prosody.names]  # of times alone there are few
    known[:, :, columns] = there
    values[:, :, columns] = np.where(there, prosody.values[rows], np.float32(0.0))
    return values.reshape(len(places), -1), known.reshape(len(places), -1)
