"""A metric: its name, meaning and format, and what each unit adds to it: an event or an amount.

Each metric is declared once, beside the code that makes it. Everything else asks the declaration: tables and
pages for the label, readings for the limit, comparisons of two judges and early decisions for the event. The
basis declared with it says which calls it is counted from, beside what its judge, probe and condition say, so
that whoever looks at a figure is led to the calls behind it and to no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered, widen
from steelyard.core.text import pluralize
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
    """How a call has to end to count."""

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
    """Which calls a figure is counted from."""

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
        """Calls that ended as the basis asks."""
        if self.ends is Ends.ANY:
            return np.ones(len(calls), dtype=np.bool_)
        kinds = (Decided,) if self.ends is Ends.CHOICE else (Decided, Tie, Abstained)
        return calls.ended(*kinds)


def climbs(calls: Observations, _: Group) -> Mask:
    """Calls on pairs of a known quality step whose better text is known."""
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


def compared(calls: Observations, _: Group) -> Mask:
    """Calls on pairs that can be compared within an order and across: verdicts in both, several in one."""
    place = widen(calls.judge) * len(calls.protocols) + calls.protocol
    numbers, pair = numbered(place * len(calls.shown.stimuli) + calls.stimulus)
    ended = calls.ended(Decided, Tie, Abstained)
    cells = pair * 2 + np.minimum(calls.order, 1)
    verdicts = np.bincount(cells, weights=ended, minlength=2 * len(numbers)).reshape(-1, 2)
    return np.asarray(((verdicts.min(axis=1) > 0) & (verdicts.max(axis=1) > 1))[pair])


def concluded(calls: Observations, _: Group) -> Mask:
    """Calls whose reason ends with an answer."""
    return calls.concluded


def fitted(calls: Observations, group: Group) -> Mask:
    """Calls that the instrument model is fitted to: on the steps of a ladder, and on equals of one subset."""
    shown = calls.shown
    equal = ~(shown.delta > 0) & (shown.kind == EQUAL)
    return np.asarray(climbs(calls, group) | equal[calls.stimulus])


def labelled(calls: Observations, _: Group) -> Mask:
    """Calls on stimuli with a reference that is not the judge's own."""
    known = calls.shown.labelled[calls.stimulus]
    return np.asarray(known & ~calls.own_label)


def on_items(calls: Observations, _: Group) -> Mask:
    """Calls on items, as they are or edited; what stands in the place of an answer is no item."""
    return np.isin(calls.shown.kind, (ORIGINAL, PERTURBED))[calls.stimulus]


def labelled_items(calls: Observations, group: Group) -> Mask:
    """Calls on items, as they are or edited, whose reference is not the judge's own."""
    return on_items(calls, group) & labelled(calls, group)


def should_fail(calls: Observations, group: Group) -> Mask:
    """Labelled calls whose reference is the lowest answer of the scale."""
    shown = calls.shown
    return np.asarray(labelled(calls, group) & (shown.expected == shown.ends[:, 0])[calls.stimulus])


def should_pass(calls: Observations, group: Group) -> Mask:
    """Labelled calls whose reference is the highest answer of the scale."""
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

Lengths = Sequence[tuple[int, ...] | None]
"""Words of the texts that each row shows; None where they are not known."""
LEFT_OUT = -1
"""Side of a row that does not count."""


def both_sides(side: Ints) -> Floats:
    """Weights by which sides 1 and 2 count alike, however many units each has; side 0 counts as it is.

    NaN where one side alone is there: errors to the other can not be seen.
    """
    sided = side > 0
    counts = np.array([np.count_nonzero(side == each) for each in (1, 2)], dtype=np.float64)
    shares = np.divide(counts.sum(), 2 * counts, out=np.full(2, np.nan), where=counts > 0)
    if sided.any() and np.isnan(shares).any():
        return np.full(len(side), np.nan)
    return np.where(sided, shares[np.where(sided, side - 1, 0)], 1.0)


@dataclass(frozen=True)
class Amount:
    """What a unit adds: a paired quantity on which two judges can be compared."""

    of: Callable[[Any, Lengths], Floats] | None
    """Columns and lengths of texts to one value a row, or for calls on pairs one for each order; NaN where
    the judge abstained and has none. None where units rest on several stimuli, and are made apart."""
    ends: tuple[float, float] = (-1.0, 1.0)
    """Least and most that a unit can add; shares of the scale where values are levels."""
    side: Callable[[Any, Lengths], Ints] | None = None
    """The same to the side of a balance that each row stands on, `LEFT_OUT` where it does not count."""
    weigh: Callable[[Ints], Floats] = both_sides
    """Sides of the units to their weights: the figure is the mean of value times weight."""
    among: Callable[[Floats, Ints], Floats] | None = None
    """Values and sides of all units to what each adds, where that depends on the others; NaN for nothing."""
    group: Group = field(default_factory=dict)
    """What tells the figure from another of its metric, as a condition does."""
    one_side: str = "every reference is on one side: errors to the other can not be seen"
    """Why there is no figure where only one side of the balance was shown."""
    in_levels: bool = False
    labelled: bool = False
    """True where the value is held against a reference; stimuli without one do not count."""


HIGH, LOW, ZERO = "high", "low", "zero"
"""Which way a figure is better; `ZERO` where the nearer to zero it lies."""


@dataclass(frozen=True)
class Limit:
    """A figure's allowed side."""

    value: float
    side: str = "max"
    """`max`: the figure must stay below; `min`: above."""
    group: Group = field(default_factory=dict)
    """Group keys an estimate must show for the limit to apply."""
    probes: tuple[str, ...] = ()
    """The only probes whose figures it is for; empty for all."""

    @property
    def allowed(self) -> tuple[float, float]:
        """From where to where the figure may lie."""
        return (-inf, self.value) if self.side == "max" else (self.value, inf)


class ShownAs(Enum):
    """How the numbers of a metric are spelled."""

    DECIMAL = "decimal"
    """`0.94`."""
    STEPS = "steps"
    """Quality steps, which can not lie below zero: `1.5`."""
    COUNT = "count"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    """`$0.000012`."""


@dataclass(frozen=True, eq=False)
class Metric:
    """What there is to say about a figure before it is measured."""

    id: str
    label: str = ""
    """The id in words, unless it is given."""
    meaning: str = ""
    """One sentence; empty for a metric that nobody declares."""
    plain: str = ""
    """What it says of a judge, for who does not know the term; empty where the label says it."""
    signed: bool = False
    """True where zero is in the middle and the sign is shown."""
    shown_as: ShownAs = ShownAs.DECIMAL
    estimated: bool = True
    """False where it counts, or describes the data at hand, and so has no interval."""
    limit: Limit | None = None
    """What a datasheet holds it against unless a policy sets another."""
    direction: str | None = None
    """`HIGH`, `LOW` or `ZERO` where one way is better and no limit says so; read `better`."""
    detail: bool = False
    """True where a short report leaves it out."""
    unit: str = "call"
    """What has the event or not: `call`, `pair` or `comparison`."""
    event: Callable[[Any], Mask] | None = None
    """Columns (`Pairs` or `Scores`) to which of their units show the event: one entry a row, or for calls on
    pairs one for each order; None where the figure is no share of units."""
    amount: Amount | None = None
    """What each unit adds, where the figure is a mean and two judges can be paired on it."""
    labelled: bool = False
    """True where the event is held against a reference; stimuli without one do not count."""
    kinds: tuple[str, ...] = ()
    """Kinds of stimuli whose units count, each a condition of its own; empty for all, pooled."""
    over_kinds: bool = False
    """True where two judges are compared on pairs of all kinds together as well."""
    by_step: bool = False
    """True where each quality step above zero is a condition of its own."""
    over_steps: bool = False
    """True where all steps together are one condition more."""
    behind: str = ""
    """How the calls end that it counts, as `show --outcome` has it: `wrong`, `flip`, `positional`,
    `contradiction`, `unreadable` or `failed`; empty where all calls are looked at."""
    basis: Basis = VERDICTS
    """Which calls it is counted from, beside what probe and condition say."""
    compared: bool = True
    """False where two judges are not compared on the event: another metric says the same."""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.id.replace("_", " "))

    @property
    def name(self) -> str:
        """The plain words with the term in brackets, or the label where it is plain."""
        return f"{self.plain} ({self.label})" if self.plain else self.label

    @property
    def short(self) -> str:
        """The plain words alone, where there is no room for the term."""
        return self.plain or self.label

    @property
    def better(self) -> str | None:
        """`HIGH`, `LOW` or `ZERO`: which way is better; None where neither is, or nobody says."""
        if self.limit is None:
            return self.direction
        return HIGH if self.limit.side == "min" else LOW

    @property
    def has_units(self) -> bool:
        """Columns tell what each unit shows."""
        return self.event is not None or (self.amount is not None and self.amount.of is not None)

    @property
    def needs_reference(self) -> bool:
        """Its units are compared with a reference, events and amounts alike."""
        return self.labelled or (self.amount is not None and self.amount.labelled)

    def limit_in(self, group: Group, probe: str | None = None) -> Limit | None:
        """The limit of a probe's figure in this condition; parts (slot, base level, stratum) have none."""
        if self.limit is None or any(key in group for key in _PARTS):
            return None
        if self.limit.probes and probe not in self.limit.probes:
            return None
        matches = all(group.get(key) == value for key, value in self.limit.group.items())
        return self.limit if matches else None

    def events(self, columns: Any) -> Mask:
        """Which units of these columns show the event."""
        if self.event is None:
            raise ValueError(f"{self.id} is no share of units")
        mask = np.asarray(self.event(columns))
        if mask.dtype != np.bool_ or len(mask) != len(columns):
            raise ValueError(
                f"the event of {self.id} gives {mask.dtype} of shape {mask.shape}, expected one truth "
                f"value a row, or one for each of its calls, for {pluralize(len(columns), 'row')}"
            )
        return mask

    def conditions(self, kind: str, delta: float | None) -> Sequence[Group]:
        """The conditions that a stimulus of this kind and quality step counts in."""
        if self.kinds and kind not in self.kinds:
            return ()
        at: Group = {} if delta is None else {"delta": step(delta)}
        if self.by_step and delta is not None:
            steps: Sequence[Group] = ({}, at) if self.over_steps else (at,)
            return steps if delta > 0 else ()
        # Pairs without a ladder are of one kind, which nobody names.
        return ({**at, "kind": kind},) if self.kinds and delta is not None else ({},)

    def compared_in(self, kind: str, delta: float | None) -> Sequence[Group]:
        """The conditions in which two judges are compared on the stimulus."""
        own = self.conditions(kind, delta)
        return ({}, *own) if self.over_kinds and {} not in own else own


def step(value: float) -> int | float:
    """A group value for a quality step: whole numbers as integers."""
    return int(value) if float(value).is_integer() else float(value)


_PARTS = ("slot", "base_level", "stratum", "edit", "place", "size", "target", "signal", "bin")


def undeclared(name: str) -> Metric:
    """A metric that no installed probe declares, named by its id."""
    return Metric(name)
