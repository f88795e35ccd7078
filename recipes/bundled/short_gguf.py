"""Writes the first layers and the commonest pieces of a language model in a GGUF file as another such file.

    python recipes/bundled/short_gguf.py qwen.gguf short.gguf --layers 16 --pieces 49152

A teacher of marks needs neither the pieces of other scripts nor the layers that choose the next word. Weights stay as
they are stored, so nothing is rounded again; byte pairs are merged in the order in which they were learned, so that the
first of them are a vocabulary of their own. Two control tokens come to stand first, where they pad and stand for what
is unknown. What guesses the next piece is left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from tokenizers import pre_tokenizers

from interpunct.errors import InputError, told_in_a_line
from interpunct.models.folder import written_whole
from interpunct.models.gguf_weights import CONTROL, SHAPE, TYPES, GgufFile

_KEPT_IF_THERE = ("rope.dimension_count", "context_length")


@told_in_a_line
def main() -> int:
    """Shorten a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="GGUF")
    parser.add_argument("target", type=Path, metavar="GGUF")
    parser.add_argument("--layers", type=int, required=True, metavar="N", help="the first N stay")
    parser.add_argument("--pieces", type=int, required=True, metavar="N", help="the first N, control tokens among them")
    given = parser.parse_args()
    shorten(given.source, given.target, layers=given.layers, pieces=given.pieces)
    return 0


def shorten(source: Path, target: Path, *, layers: int, pieces: int) -> None:
    """Write the first layers and pieces of a file as another."""
    whole = GgufFile(source)
    import gguf

    name, reader, value = whole.name, whole.reader, whole.value
    tokens, types = value("tokenizer.ggml.tokens"), value(TYPES)
    order = kept(tokens, types, pieces, path=source)
    if not 1 <= layers <= whole.shape["layers"]:
        raise InputError(f"{layers} of {whole.shape['layers']} layers asked for; say 1 to these", path=str(source))
    with written_whole(target) as unfinished:
        writer = gguf.GGUFWriter(unfinished, name)
        writer.add_block_count(layers)
        there = (key for key in _KEPT_IF_THERE if reader.get_field(f"{name}.{key}") is not None)
        for key in (*(key for option, key in SHAPE.items() if option != "layers"), *there):
            number = value(f"{name}.{key}")
            (writer.add_float32 if isinstance(number, float) else writer.add_uint32)(f"{name}.{key}", number)
        for key in ("tokenizer.ggml.model", "tokenizer.ggml.pre"):
            writer.add_string(key, value(key))
        writer.add_token_list(left := [tokens[place] for place in order])
        writer.add_token_types([types[place] for place in order])
        made = set(left)
        merges = (pair.split(" ") for pair in value("tokenizer.ggml.merges"))
        writer.add_token_merges([" ".join(pair) for pair in merges if made.issuperset((*pair, "".join(pair)))])
        for tensor in reader.tensors:
            part, _, rest = tensor.name.partition(".")
            if part == "output" or (part == "blk" and int(rest.partition(".")[0]) >= layers):
                continue
            stored = np.ascontiguousarray(tensor.data[order] if part == "token_embd" else tensor.data)
            writer.add_tensor(tensor.name, stored, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def kept(tokens: list[str], types: list[int], pieces: int, *, path: Path) -> list[int]:
    """Return which of a vocabulary's pieces stay, in their new order: two control tokens, then the first others."""
    control = [place for place, kind in enumerate(types) if kind == CONTROL][:2]
    if len(control) < 2:
        raise InputError("fewer than two control tokens; give another file", path=str(path))
    letters = set(pre_tokenizers.ByteLevel.alphabet())
    others = [place for place, kind in enumerate(types) if kind != CONTROL]
    least = 2 + max((count for count, place in enumerate(others, start=1) if tokens[place] in letters), default=0)
    if not least <= pieces <= 2 + len(others):
        what = f"{pieces} pieces asked for, and words need the first {least} at least, of {2 + len(others)}"
        raise InputError(f"{what}; say a number between these", path=str(path))
    return [*control, *others[: pieces - 2]]


if __name__ == "__main__":
    sys.exit(main())
