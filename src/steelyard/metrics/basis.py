"""Which calls a figure is counted from, beside what its judge, probe and condition say.

Declared with the metric, so that whoever looks at a figure is led to the calls behind it and to no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from steelyard.core.arrays import Mask, numbered, widen
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Tie


class Items(Enum):
    """Whose calls count, where a probe edits items."""

    OWN = "own"
    """Those on the stimuli of the probe."""
    UNCHANGED = "unchanged"
    """Those on the items that the probe edits, as they are."""
    BOTH = "both"
    """Those on edited items and on the same items as they are."""
    PROBES = "probes"
    """Those on stimuli of any probe of the study; items that are only compared with do not count."""
    RUN = "run"
    """Those on every stimulus, whatever context the figure stands under."""


class Ends(Enum):
    ANY = "any"
    """Lost calls count too."""
    VERDICT = "verdict"
    """A verdict was read: a choice, a score, a tie or an abstention."""
    CHOICE = "choice"


Group = Mapping[str, str | float]
"""A condition: protocol, kind, delta, slot, …; an absent key is pooled over."""
Only = Callable[[Observations, Group], Mask]
"""Calls and the condition of a figure to which of the calls may count."""


@dataclass(frozen=True)
class Basis:
    items: Items = Items.OWN
    ends: Ends = Ends.VERDICT
    with_base: bool = False
    """True where the calls of the base protocol on the same stimuli count too."""
    shared: bool = False
    """True where a pair counts only if both protocols saw it; all count where they share none."""
    whole: bool = False
    """True where only units count whose calls all ended so: pairs with a verdict in both orders."""
    only: Only | None = None
    """What else must hold of a call, in the figure's condition; None where nothing must."""

    def ended(self, calls: Observations) -> Mask:
        if self.ends is Ends.ANY:
            return np.ones(len(calls), dtype=np.bool_)
        kinds = (Decided,) if self.ends is Ends.CHOICE else (Decided, Tie, Abstained)
        return calls.ended(*kinds)


def climbs(calls: Observations, group: Group) -> Mask:
    del group
    shown = calls.shown
    return np.asarray(((shown.delta > 0) & (shown.better > 0))[calls.stimulus])


def with_known_answer(calls: Observations, group: Group) -> Mask:
    """Calls on pairs with a better text, or on labelled items; of the larger quality steps where asked."""
    shown = calls.shown
    better = shown.better > 0
    if group.get("steps") == LARGE_STEPS:
        better = better & (shown.delta >= LARGE)
    known = labelled(calls, group) & calls.ended(Decided)
    return np.asarray(np.where(shown.scored[calls.stimulus], known, better[calls.stimulus]))


def compared(calls: Observations, group: Group) -> Mask:
    """Calls on pairs that can be compared within an order and across: verdicts in both, several in one."""
    del group
    place = widen(calls.judge) * len(calls.protocols) + calls.protocol
    numbers, pair = numbered(place * len(calls.shown.stimuli) + calls.stimulus)
    ended = calls.ended(Decided, Tie, Abstained)
    cells = pair * 2 + np.minimum(calls.order, 1)
    verdicts = np.bincount(cells, weights=ended, minlength=2 * len(numbers)).reshape(-1, 2)
    return np.asarray(((verdicts.min(axis=1) > 0) & (verdicts.max(axis=1) > 1))[pair])


def concluded(calls: Observations, group: Group) -> Mask:
    """Calls whose reason ends with an answer."""
    del group
    return calls.concluded


def fitted(calls: Observations, group: Group) -> Mask:
    """Calls that the instrument model is fitted to: on the steps of a ladder, and on equals of one subset."""
    shown = calls.shown
    equal = ~(shown.delta > 0) & (shown.kind == EQUAL)
    return np.asarray(climbs(calls, group) | equal[calls.stimulus])


def labelled(calls: Observations, group: Group) -> Mask:
    """Calls on stimuli with a reference that is not the judge's own."""
    del group
    known = calls.shown.labelled[calls.stimulus]
    return np.asarray(known & ~calls.own_label)


def on_items(calls: Observations, group: Group) -> Mask:
    """Calls on items, as they are or edited; what stands in the place of an answer is no item."""
    del group
    return np.isin(calls.shown.kind, (ORIGINAL, PERTURBED))[calls.stimulus]


def labelled_items(calls: Observations, group: Group) -> Mask:
    return on_items(calls, group) & labelled(calls, group)


def should_fail(calls: Observations, group: Group) -> Mask:
    """Labelled calls whose reference is the lowest answer of the scale."""
    shown = calls.shown
    return np.asarray(labelled(calls, group) & (shown.expected == shown.ends[:, 0])[calls.stimulus])


def should_pass(calls: Observations, group: Group) -> Mask:
    shown = calls.shown
    return np.asarray(labelled(calls, group) & (shown.expected == shown.ends[:, 1])[calls.stimulus])


LARGE = 3
LARGE_STEPS = "3 and more"
EQUAL = "same_subset"
"""Kind of pairs of equal quality that the instrument model is fitted to."""
VERDICTS = Basis()
EVERY_CALL = Basis(ends=Ends.ANY)
CLIMBS = Basis(only=climbs)
KNOWN_ANSWER = Basis(only=with_known_answer)
COMPARED = Basis(only=compared)
FITTED = Basis(only=fitted)
CONCLUDED = Basis(only=concluded)
WHOLE_PAIRS = Basis(whole=True)
LABELLED = Basis(only=labelled_items)
OVER_PROBES = Basis(items=Items.PROBES, only=labelled_items)
