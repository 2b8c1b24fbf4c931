"""The embedded model: a transformer in numpy, layer by layer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from steelyard.providers.embedded.weights import Tokenizer

Array: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.uint8]

_SCALARS = ("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d")
"""`struct` formats by GGUF value type; 8 is a string, 9 an array."""
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class GgufFile:
    metadata: dict[str, Any]
    tensors: dict[str, Array]
    """Arrays by name, the slowest dimension first."""


class _Cursor:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.place = 0

    def scalar(self, layout: str) -> Any:
        (value,) = struct.unpack_from(layout, self.data, self.place)
        self.place += struct.calcsize(layout)
        return value

    def string(self) -> str:
        length = self.scalar("<Q")
        self.place += length
        return str(self.data[self.place - length : self.place], "utf-8")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner, count = self.scalar("<I"), self.scalar("<Q")
            return [self.value(inner) for _ in range(count)]
        return self.scalar(_SCALARS[kind])


def read_gguf(path: Path) -> GgufFile:
    """Written for speed of loading: the general-purpose reader takes seconds where this takes a tenth."""
    content: Bytes = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    cursor = _Cursor(content.data)
    magic, version = cursor.scalar("<I"), cursor.scalar("<I")
    if magic != int.from_bytes(b"GGUF", "little") or version not in (2, 3):
        raise ValueError(f"{path}: not a GGUF file of version 2 or 3")
    count, pairs = cursor.scalar("<Q"), cursor.scalar("<Q")
    metadata = {cursor.string(): cursor.value(cursor.scalar("<I")) for _ in range(pairs)}
    places = []
    for _ in range(count):
        name, rank = cursor.string(), cursor.scalar("<I")
        shape = tuple(cursor.scalar("<Q") for _ in range(rank))
        places.append((name, shape[::-1], cursor.scalar("<I"), cursor.scalar("<Q")))
    align = metadata.get("general.alignment", 32)
    start = -(-cursor.place // align) * align
    tensors = {name: _tensor(content[start + offset :], shape, kind) for name, shape, kind, offset in places}
    return GgufFile(metadata, tensors)


def _tensor(data: Bytes, shape: tuple[int, ...], kind: int) -> Array:
    if kind not in _ENCODINGS:
        raise ValueError(f"tensor encoding {kind} is not one of F32, F16, Q4_1, Q8_0")
    numbers, size, decode = _ENCODINGS[kind]
    blocks = prod(shape) // numbers
    return decode(data[: blocks * size].reshape(blocks, size)).reshape(shape)


def _decode_q4_1(blocks: Bytes) -> Array:
    """Scale and offset, then 16 bytes: low halves are the first 16 numbers, high halves the rest."""
    scale, offset = np.split(_halves(blocks[:, :4]), 2, axis=1)
    numbers = np.empty((len(blocks), 32), dtype=np.float32)
    np.multiply(blocks[:, 4:] & 15, scale, out=numbers[:, :16])
    np.multiply(blocks[:, 4:] >> 4, scale, out=numbers[:, 16:])
    numbers += offset
    return numbers


def _halves(columns: Bytes) -> Array:
    return np.ascontiguousarray(columns).view("<f2").astype(np.float32)


_ENCODINGS: dict[int, tuple[int, int, Callable[[Bytes], Array]]] = {
    0: (1, 4, lambda blocks: np.array(blocks.view("<f4"), dtype=np.float32)),
    1: (1, 2, lambda blocks: blocks.view("<f2").astype(np.float32)),
    3: (32, 20, _decode_q4_1),
    # 32 signed bytes after one scale.
    8: (32, 34, lambda blocks: blocks[:, 2:].view(np.int8) * _halves(blocks[:, :2])),
}
"""By GGUF's number of the encoding: numbers and bytes of a block, and how it is decoded."""


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    shared_heads: int
    head_size: int
    """Numbers per head."""
    rope_base: float
    """Base of the rotary position angles."""
    epsilon: float
    """Keeps the norm of a zero vector finite."""
    context: int
    """Longest prompt in tokens."""


@dataclass(frozen=True)
class TransformerLayer:
    attention_norm: Array
    query_key_value: Array
    attention_out: Array
    mlp_norm: Array
    gate_up: Array
    down: Array


@dataclass(frozen=True)
class KvCache:
    """Keys and values of the tokens a layer has read, as (shared head, token, size)."""

    keys: Array
    values: Array


@dataclass(frozen=True)
class RotaryPositions:
    cosine: Array
    """Of each place's rotary angles."""
    sine: Array
    future: NDArray[np.bool_]
    """(token, any token so far): true where the second comes later and must not be seen."""

    @classmethod
    def after(cls, before: int, count: int, shape: Shape) -> RotaryPositions:
        places = np.arange(before, before + count)[:, None]
        speeds = shape.rope_base ** (-np.arange(0, shape.head_size, 2) / shape.head_size)
        angles = places * speeds
        future = np.arange(before + count) > places
        return cls(np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), future)


def run_layer(
    layer: TransformerLayer, shape: Shape, stream: Array, places: RotaryPositions, past: KvCache | None
) -> tuple[Array, KvCache]:
    mixed = normed(stream, layer.attention_norm, shape.epsilon) @ layer.query_key_value.T
    heads = mixed.reshape(len(stream), -1, shape.head_size).transpose(1, 0, 2)
    query, key, value = np.split(heads, [shape.heads, shape.heads + shape.shared_heads])
    context = _joined(past, KvCache(_rotated(key, places), value))
    stream = stream + _attention(_rotated(query, places), context, places) @ layer.attention_out.T
    return stream + _mlp(layer, normed(stream, layer.mlp_norm, shape.epsilon)), context


def normed(stream: Array, weight: Array, epsilon: float) -> Array:
    scale = 1 / np.sqrt(np.mean(stream * stream, axis=-1, keepdims=True) + np.float32(epsilon))
    return np.asarray(stream * scale * weight)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _joined(past: KvCache | None, present: KvCache) -> KvCache:
    if past is None:
        return present
    return KvCache(
        np.concatenate([past.keys, present.keys], axis=1),
        np.concatenate([past.values, present.values], axis=1),
    )


def _attention(query: Array, read: KvCache, places: RotaryPositions) -> Array:
    heads, count, size = query.shape
    shared, total, _ = read.keys.shape
    scores = query.reshape(shared, -1, size) @ read.keys.transpose(0, 2, 1) * np.float32(size**-0.5)
    scores = np.where(places.future, np.float32(-np.inf), scores.reshape(heads, count, total))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    seen = (weights.reshape(shared, -1, total) @ read.values).reshape(query.shape)
    return np.asarray(seen.transpose(1, 0, 2).reshape(count, -1))


def _rotated(heads: Array, places: RotaryPositions) -> Array:
    """Rotary position embedding on neighbouring pairs, as GGUF files of the Llama type order them."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    pairs = [even * places.cosine - odd * places.sine, even * places.sine + odd * places.cosine]
    return np.stack(pairs, axis=-1).reshape(heads.shape)


def _mlp(layer: TransformerLayer, stream: Array) -> Array:
    gate, up = np.split(stream @ layer.gate_up.T, 2, axis=-1)
    # gate · sigmoid(gate), written with tanh because exp overflows on large negative values.
    return np.asarray((gate * (np.tanh(gate / 2) + 1) / 2 * up) @ layer.down.T)


Stage: TypeAlias = tuple[int, ...]
"""Tokens that are read together."""
Memory: TypeAlias = tuple[KvCache, ...]
"""What each layer keeps of the tokens read so far."""

_LOGIT_ROWS = 128
"""Positions whose predictions are loaded at once, at 200 kB each."""


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
        stream = self._embedding[np.asarray(tokens)]
        places = RotaryPositions.after(length(before), len(tokens), self.shape)
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
    model: LanguageModel
    tokenizer: Tokenizer


_LOADED: WeakValueDictionary[Path, LoadedModel] = WeakValueDictionary()
_LOADING = Lock()


def shared_model(path: Path) -> LoadedModel:
    """The model of a file; all who hold it at the same time have one copy, of half a gigabyte."""
    with _LOADING:
        loaded = _LOADED.get(path)
        if loaded is None:
            loaded = _LOADED[path] = load_model(path)
        return loaded


def load_model(path: Path) -> LoadedModel:
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
    return LoadedModel(model, Tokenizer(meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.merges"]))


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
