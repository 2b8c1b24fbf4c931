"""The layers of a Llama-type transformer in numpy; matrices are (outputs, inputs)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.providers.embedded.gguf import Array


@dataclass(frozen=True)
class Shape:
    """Sizes of the model, from the file's metadata."""

    layers: int
    """Layers, one after the other."""
    heads: int
    """Query heads."""
    shared_heads: int
    """Heads of keys and values; several query heads share one."""
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
    """Weights of one layer."""

    attention_norm: Array
    query_key_value: Array
    attention_out: Array
    mlp_norm: Array
    gate_up: Array
    down: Array


@dataclass(frozen=True)
class Past:
    """Keys and values of the tokens a layer has read, as (shared head, token, size)."""

    keys: Array
    values: Array


@dataclass(frozen=True)
class Places:
    """Where the tokens being read stand."""

    cosine: Array
    """Of each place's rotary angles."""
    sine: Array
    future: NDArray[np.bool_]
    """(token, any token so far): true where the second comes later and must not be seen."""

    @classmethod
    def after(cls, before: int, count: int, shape: Shape) -> Places:
        """The `count` places after the first `before`."""
        places = np.arange(before, before + count)[:, None]
        speeds = shape.rope_base ** (-np.arange(0, shape.head_size, 2) / shape.head_size)
        angles = places * speeds
        future = np.arange(before + count) > places
        return cls(np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), future)


def run_layer(
    layer: TransformerLayer, shape: Shape, stream: Array, places: Places, past: Past | None
) -> tuple[Array, Past]:
    """The stream after one layer, and all that the layer has read so far."""
    mixed = normed(stream, layer.attention_norm, shape.epsilon) @ layer.query_key_value.T
    heads = mixed.reshape(len(stream), -1, shape.head_size).transpose(1, 0, 2)
    query, key, value = np.split(heads, [shape.heads, shape.heads + shape.shared_heads])
    context = _joined(past, Past(_rotated(key, places), value))
    stream = stream + _attention(_rotated(query, places), context, places) @ layer.attention_out.T
    return stream + _mlp(layer, normed(stream, layer.mlp_norm, shape.epsilon)), context


def normed(stream: Array, weight: Array, epsilon: float) -> Array:
    """Each token's vector at unit root mean square, times a learned weight."""
    scale = 1 / np.sqrt(np.mean(stream * stream, axis=-1, keepdims=True) + np.float32(epsilon))
    return np.asarray(stream * scale * weight)


def log_softmax(logits: Array) -> Array:
    """Logits to log-probabilities along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _joined(past: Past | None, present: Past) -> Past:
    if past is None:
        return present
    return Past(
        np.concatenate([past.keys, present.keys], axis=1),
        np.concatenate([past.values, present.values], axis=1),
    )


def _attention(query: Array, read: Past, places: Places) -> Array:
    """For each token, the values of the tokens before it, weighted by how its query meets their keys."""
    heads, count, size = query.shape
    shared, total, _ = read.keys.shape
    scores = query.reshape(shared, -1, size) @ read.keys.transpose(0, 2, 1) * np.float32(size**-0.5)
    scores = np.where(places.future, np.float32(-np.inf), scores.reshape(heads, count, total))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    seen = (weights.reshape(shared, -1, total) @ read.values).reshape(query.shape)
    return np.asarray(seen.transpose(1, 0, 2).reshape(count, -1))


def _rotated(heads: Array, places: Places) -> Array:
    """Rotary position embedding on neighbouring pairs, as GGUF files of the Llama type order them."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    pairs = [even * places.cosine - odd * places.sine, even * places.sine + odd * places.cosine]
    return np.stack(pairs, axis=-1).reshape(heads.shape)


def _mlp(layer: TransformerLayer, stream: Array) -> Array:
    gate, up = np.split(stream @ layer.gate_up.T, 2, axis=-1)
    # gate · sigmoid(gate), written with tanh because exp overflows on large negative values.
    return np.asarray((gate * (np.tanh(gate / 2) + 1) / 2 * up) @ layer.down.T)
