"""SmolLM2 in numpy: reads tokens and predicts the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from steelyard.providers.embedded.gguf import Array, read_gguf
from steelyard.providers.embedded.layers import (
    Past,
    Places,
    Shape,
    TransformerLayer,
    log_softmax,
    normed,
    run_layer,
)
from steelyard.providers.embedded.tokens import Tokenizer

Stage: TypeAlias = tuple[int, ...]
"""Tokens that are read together."""
Memory: TypeAlias = tuple[Past, ...]
"""What each layer keeps of the tokens read so far."""

_LOGIT_ROWS = 128
"""Positions whose predictions are held at once, at 200 kB each."""


class LanguageModel:
    """Weights in memory; threads may share them."""

    def __init__(
        self, shape: Shape, embedding: Array, layers: Sequence[TransformerLayer], norm: Array
    ) -> None:
        self.shape = shape
        self._embedding = embedding
        self._layers = layers
        self._norm = norm

    def next_logprobs(self, tokens: Stage, before: Memory = ()) -> Array:
        """Log-probability of every token of the vocabulary after these."""
        hidden, _ = self.read(tokens, before)
        return np.asarray(log_softmax(hidden[-1:] @ self._embedding.T)[0])

    def continuation_logprob(self, last: int, continuation: Stage, before: Memory = ()) -> float:
        """Log-probability, in nats, that exactly these tokens follow the last one."""
        hidden, _ = self.read((last, *continuation[:-1]), before)
        total = 0.0
        for start in range(0, len(continuation), _LOGIT_ROWS):
            rows = slice(start, start + _LOGIT_ROWS)
            wanted = np.asarray(continuation[rows])
            logprobs = log_softmax(hidden[rows] @ self._embedding.T)
            total += float(logprobs[np.arange(len(wanted)), wanted].sum(dtype=np.float64))
        return total

    def read(self, tokens: Stage, before: Memory = ()) -> tuple[Array, Memory]:
        """The final hidden state at each token, and the memory after them."""
        stream = self._embedding[np.asarray(tokens)]
        places = Places.after(length(before), len(tokens), self.shape)
        memory = []
        for number, layer in enumerate(self._layers):
            past = before[number] if before else None
            stream, read = run_layer(layer, self.shape, stream, places, past)
            memory.append(read)
        return normed(stream, self._norm, self.shape.epsilon), tuple(memory)


def length(memory: Memory) -> int:
    """Tokens that a memory holds."""
    return int(memory[0].keys.shape[1]) if memory else 0


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model with the tokenizer that goes with it."""

    model: LanguageModel
    """Reads tokens."""
    tokenizer: Tokenizer
    """Makes tokens of a text."""


_HELD: WeakValueDictionary[Path, LoadedModel] = WeakValueDictionary()
_LOADING = Lock()


def shared_model(path: Path) -> LoadedModel:
    """The model of a file; all who hold it at the same time have one copy, of half a gigabyte."""
    with _LOADING:
        held = _HELD.get(path)
        if held is None:
            held = _HELD[path] = LoadedModel(*load_model(path))
        return held


def load_model(path: Path) -> tuple[LanguageModel, Tokenizer]:
    """Read a GGUF file of the Llama type with tied embeddings; every matrix becomes float32."""
    file = read_gguf(path)
    meta, tensors = file.metadata, file.tensors
    shape = Shape(
        layers=meta["llama.block_count"],
        heads=meta["llama.attention.head_count"],
        shared_heads=meta["llama.attention.head_count_kv"],
        head_size=meta["llama.rope.dimension_count"],
        rope_base=meta["llama.rope.freq_base"],
        epsilon=meta["llama.attention.layer_norm_rms_epsilon"],
        context=meta["llama.context_length"],
    )
    layers = [_layer(tensors, f"blk.{number}") for number in range(shape.layers)]
    model = LanguageModel(shape, tensors["token_embd.weight"], layers, tensors["output_norm.weight"])
    return model, Tokenizer(meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.merges"])


def _layer(tensors: dict[str, Array], prefix: str) -> TransformerLayer:
    def take(*names: str) -> Array:
        return np.concatenate([tensors.pop(f"{prefix}.{name}.weight") for name in names])

    return TransformerLayer(
        attention_norm=take("attn_norm"),
        query_key_value=take("attn_q", "attn_k", "attn_v"),
        attention_out=take("attn_output"),
        mlp_norm=take("ffn_norm"),
        gate_up=take("ffn_gate", "ffn_up"),
        down=take("ffn_down"),
    )
