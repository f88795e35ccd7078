"""Language models in GGUF files, in small, written with the package's own writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import pre_tokenizers

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ s", "Ġs o", "Ġ d", "Ġd o", "Ġdo n", "' t", "0 0", "Ġ 0", "- t"]
QUERIES_KEYS_VALUES = ("attn_q.weight", "attn_k.weight", "attn_v.weight")

Weights = Mapping[str, npt.NDArray[np.float32]]


def gguf_tokens() -> list[str]:
    """All bytes but one, and what the merges make."""
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - {"Ð"})
    return [*CONTROL, *alphabet, *(pair.replace(" ", "") for pair in MERGES)]


def gguf_weights(seed: int = 1, *, biases: bool = False) -> dict[str, npt.NDArray[np.float32]]:
    """Return random weights by the names of a file, those that guess the next piece among them."""
    sizes: dict[str, tuple[int, ...]] = {"token_embd": (len(gguf_tokens()), 32), "output_norm": (32,)}
    sizes["output"] = sizes["token_embd"]
    for layer in range(2):
        of_layer: dict[str, tuple[int, ...]] = {
            "attn_norm": (32,), "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32),
            "ffn_norm": (32,), "ffn_gate": (64, 32), "ffn_up": (64, 32), "ffn_down": (32, 64),
        }  # fmt: skip
        sizes |= {f"blk.{layer}.{name}": size for name, size in of_layer.items()}
    numbers = np.random.default_rng(seed)
    found = {f"{name}.weight": numbers.normal(0, 0.5, size).astype(np.float32) for name, size in sizes.items()}
    if biases:
        added = {name: weight.shape[:1] for name, weight in found.items() if name.endswith(QUERIES_KEYS_VALUES)}
        for name, size in added.items():
            found[name.replace("weight", "bias")] = numbers.normal(0, 0.5, size).astype(np.float32)
    return found


def write_gguf(
    path: Path,
    weights: Weights | None = None,
    *,
    architecture: str = "llama",
    pre: str = "smollm",
    rotated_numbers: int = 8,
    tokens: Sequence[str] = gguf_tokens(),
) -> tuple[Path, Weights]:
    """Write a file; returns its path and the weights that it holds, as quantised."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    for add, value in (
        (writer.add_embedding_length, 32), (writer.add_block_count, 2), (writer.add_head_count, 4),
        (writer.add_head_count_kv, 2), (writer.add_feed_forward_length, 64), (writer.add_rope_freq_base, 1000.0),
        (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_rope_dimension_count, rotated_numbers),
        (writer.add_tokenizer_model, "gpt2"), (writer.add_tokenizer_pre, pre),
        (writer.add_token_list, list(tokens)), (writer.add_token_merges, MERGES),
        (writer.add_token_types, [3 if token in CONTROL else 1 for token in tokens]),
    ):  # fmt: skip
        add(value)
    held = {}
    for name, weight in (gguf_weights() if weights is None else weights).items():
        stored, kind = weight, gguf.GGMLQuantizationType.F32
        if weight.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q4_1 if "attn" in name else gguf.GGMLQuantizationType.Q8_0
            stored = gguf.quantize(weight, kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
        held[name] = np.array(gguf.dequantize(stored, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, held
