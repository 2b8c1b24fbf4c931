"""Calls of one judge that answer one question: a stimulus under a protocol, in every order and repeat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.probes.probe_metadata import label_changing_probes
from steelyard.stimuli.original import PERTURBED
from steelyard.verdicts.observations import Observations


@dataclass(frozen=True, eq=False)
class Groups:
    """Consecutive calls on one stimulus under one protocol."""

    observations: Observations
    """Calls of one judge, sorted by protocol and stimulus as observations are."""
    starts: Ints
    """The first call of each group."""

    @classmethod
    def of(cls, observations: Observations) -> Groups:
        """The groups of a judge's calls."""
        code = observations.protocol * len(observations.shown.stimuli) + observations.stimulus
        changes = np.flatnonzero(np.diff(code)) + 1
        starts = np.concatenate([[0], changes]) if len(code) else changes
        return cls(observations, starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Ints:
        """Calls of each group."""
        return np.diff(self.starts, append=len(self.observations))

    @cached_property
    def number(self) -> Ints:
        """The group of each call."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def stimulus(self) -> Ints:
        """What each group was shown."""
        return self.observations.stimulus[self.starts]

    @cached_property
    def item(self) -> Ints:
        """The item that it was made from."""
        return self.observations.shown.item[self.stimulus]

    @cached_property
    def unchanged(self) -> Ints:
        """The group of the unchanged item under the same protocol; -1 where there is none, or it is that."""
        shown = self.observations.shown
        arm = self.observations.protocol[self.starts] * len(shown.items) + self.item
        plain = shown.original[self.stimulus]
        if not plain.any():
            return np.full(len(self), -1, dtype=np.int64)
        number = {code: place for place, code in zip(np.flatnonzero(plain), arm[plain].tolist(), strict=True)}
        places = [-1 if own else number.get(code, -1) for code, own in zip(arm.tolist(), plain, strict=True)]
        return np.array(places, dtype=np.int64)

    @cached_property
    def comparable(self) -> Mask:
        """An edit that leaves the item's reference and scale alone, so that the verdict should stay."""
        if not len(self):
            return np.zeros(0, dtype=np.bool_)
        shown, mine, plain = self.observations.shown, self.stimulus, self.stimulus[self.unchanged]
        edited = (shown.kind[mine] == PERTURBED) & ~np.isin(shown.probe[mine], label_changing_probes())
        wanted, other = shown.expected[mine], shown.expected[plain]
        same = (wanted == other) | (np.isnan(wanted) & np.isnan(other))
        scale = (shown.ends[mine] == shown.ends[plain]).all(axis=1)
        return np.asarray((self.unchanged >= 0) & edited & same & scale)

    def rows(self, group: int) -> slice:
        """The calls of a group."""
        return slice(int(self.starts[group]), int(self.starts[group] + self.sizes[group]))

    def sums(self, values: Mask | Floats) -> Floats:
        """The sum over each group."""
        sums = np.bincount(self.number, weights=values.astype(np.float64), minlength=len(self))
        return sums.astype(np.float64)

    def least(self, values: Floats) -> Floats:
        """The smallest value of each group; NaN where none has one."""
        return np.fmin.reduceat(values, self.starts) if len(self) else values

    def most(self, values: Floats) -> Floats:
        """The largest value of each group; NaN where none has one."""
        return np.fmax.reduceat(values, self.starts) if len(self) else values

    def mean(self, values: Floats) -> Floats:
        """The mean of each group; NaN where none has a value."""
        known = ~np.isnan(values)
        count = self.sums(known)
        total = self.sums(np.where(known, values, 0.0))
        mean: Floats = np.divide(total, count, out=np.full(len(self), np.nan), where=count > 0)
        return mean
