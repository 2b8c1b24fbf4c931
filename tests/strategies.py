"""Pairs for tests: from rows, from published counts, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

import numpy as np
from hypothesis import strategies as st

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.columns import PairAnswer, Pairs

WHOLE = ("clusters", "names", "mirrored")
CODES = dict(zip("12taxf-", PairAnswer, strict=True))


def make(
    answers: Sequence[str],
    *,
    tasks: int | Sequence[str] = 1,
    kind: str | Sequence[str] = "same_subset",
    delta: float | Sequence[float] = 0.0,
    better: int | Sequence[int] = 0,
    base_level: float | Sequence[float] = float("nan"),
    replicates: int = 1,
    name: str = "p",
) -> Pairs:
    """One row per two-letter answer (u first, v first); rows go round the tasks, replicates are adjacent."""
    size = len(answers)
    row = np.arange(size)
    pair = row // replicates
    labels = [f"t{p % tasks:03d}" for p in pair] if isinstance(tasks, int) else list(tasks)
    names = tuple(sorted(set(labels)))

    def column(value: object, dtype: type) -> np.ndarray:
        return np.array([value] * size if isinstance(value, (str, int, float)) else list(value), dtype=dtype)

    return Pairs(
        pair=pair,
        replicate=row % replicates,
        cluster=np.array([names.index(label) for label in labels], dtype=np.int64),
        kind=column(kind, np.str_),
        stratum=column("general", np.str_),
        delta=column(delta, np.float64),
        base_level=column(base_level, np.float64),
        better=column(better, np.int64),
        u_first=np.array([CODES[a[0]] for a in answers], dtype=np.int64),
        v_first=np.array([CODES[a[1]] for a in answers], dtype=np.int64),
        clusters=names,
        names=tuple(f"{name}{i:06d}" for i in range(size // replicates + 1)),
    )


def stack(*parts: Pairs) -> Pairs:
    """Rows of several Pairs over the same tasks, pairs kept apart."""
    names = tuple(sorted({c for part in parts for c in part.clusters}))
    offset, columns = 0, {}
    for part in parts:
        renamed = np.array([names.index(c) for c in part.clusters], dtype=np.int64)
        moved = replace(part, cluster=renamed[part.cluster], pair=part.pair + offset)
        offset += len(part.names)
        for key in vars(moved):
            if key not in WHOLE:
                columns.setdefault(key, []).append(getattr(moved, key))
    joined = {key: np.concatenate(values) for key, values in columns.items()}
    pair_names = tuple(name for part in parts for name in part.names)
    return Pairs(**joined, clusters=names, names=pair_names)


def shuffled(pairs: Pairs, seed: int = 0) -> Pairs:
    """The same rows in another order."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    columns = {
        f.name: getattr(pairs, f.name)[order]
        for f in fields(pairs)
        if f.name not in ("clusters", "names", "mirrored")
    }
    return replace(pairs, **columns)


def swap_contents(pairs: Pairs) -> Pairs:
    """Call u what was called v."""
    better = np.array([0, 2, 1])[pairs.better]
    return replace(pairs, u_first=pairs.v_first, v_first=pairs.u_first, better=better)


def swap_slots(pairs: Pairs) -> Pairs:
    """Exchange the slots, answers together with the order they were shown in."""
    other = np.array([PairAnswer.SECOND, PairAnswer.FIRST, *list(PairAnswer)[2:]])
    return replace(pairs, u_first=other[pairs.v_first], v_first=other[pairs.u_first])


def find(estimates: Iterable[Estimate], metric: str, **group: str | float) -> Estimate:
    """The one estimate of a metric whose group holds exactly these keys beside the protocol."""
    rest = [
        e
        for e in estimates
        if e.metric == metric and {k: v for k, v in e.group.items() if k != "protocol"} == group
    ]
    assert len(rest) == 1, (metric, group, len(rest))
    return rest[0]


def interval(estimate: Estimate, method: str) -> tuple[float | None, float | None]:
    """The limits by one method."""
    return next((i.low, i.high) for i in estimate.intervals if i.method == method)


letters = st.sampled_from("12taxf")
shown_answers = st.tuples(letters, letters).map("".join)


@st.composite
def pairs_of_equals(draw: st.DrawFn, answers: st.SearchStrategy[str] = shown_answers) -> Pairs:
    """Some pairs of equals in a few tasks."""
    rows = draw(st.lists(answers, min_size=1, max_size=40))
    return make(rows, tasks=draw(st.integers(1, 8)))
