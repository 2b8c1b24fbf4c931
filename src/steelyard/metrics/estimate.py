"""An estimate: one figure with everything that is needed to trust it, or the reason why it has no value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple, Required, TypedDict, Unpack

from steelyard.core.content_hash import canonical_json, seed_for
from steelyard.core.json_dataclasses import from_body, keyed, mapping, to_body
from steelyard.core.text import join_notes
from steelyard.metrics.metric import Group, Limit, Metric

DECIDES = "decides"
"""Method of the interval that a word is read from, where that is not the recommended one."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and how it was made."""

    method: str
    """`wilson`, `wilson_cluster`, `goodman`, `bootstrap_cluster`, `newcombe`, …"""
    low: float | None
    """Lower limit; None where the data set none."""
    high: float | None
    confidence: float = keyed("level", 0.95)
    """How surely the truth lies between the limits, as a share of runs."""

    def to_json(self) -> dict[str, Any]:
        """One entry under `intervals` in `datasheet.json`."""
        return {"method": self.method, "level": self.confidence, "low": self.low, "high": self.high}

    @property
    def span(self) -> tuple[float, float]:
        """Both ends; infinite where the data set none."""
        return -inf if self.low is None else self.low, inf if self.high is None else self.high

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Interval:
        """The interval that was written."""
        return from_body(cls, body, where)


@dataclass(frozen=True)
class Estimate:
    """A value with its counts, intervals, exclusions and reading."""

    judge: str
    """Name on the datasheet; `panel` for figures about several judges."""
    probe: str
    """Probe; `run` of rates over a whole run, `criterion` of shifts between protocols."""
    metric: str
    """Metric id."""
    group: Mapping[str, str | float]
    """Condition: `protocol`, `kind`, `cue`, `delta`, `base_level`, `slot`, `level`, `scale`, `stratum`; an
    absent key is pooled over; under `panel` also `of`, `rule`, `judge_1`, `judge_2`, …"""
    unit: str
    """What numerator and denominator count: `call`, `pair`, `comparison`, `input`."""
    value: float | None
    """Undefined is None, with the reason in `note`; never 0."""
    numerator: int | None = None
    """Units with the event."""
    denominator: int | None = None
    """Decided + tie + abstained, as an integer."""
    intervals: tuple[Interval, ...] = ()
    """`method`, `level`, `low`, `high`; None is an open end. The first is the recommended one; `decides`,
    where there is one, is what the status is read from."""
    n_calls: int = 0
    """Calls behind the figure."""
    n_units: int = 0
    """Distinct pairs or items."""
    n_clusters: int = 0
    """Clusters, which intervals take as independent."""
    design_effect: float | None = None
    """Variance inflation by clustering; None where it cannot be estimated."""
    effective_size: float | None = None
    """Independent trials behind the first interval, where that is the score interval of a share."""
    quantile: float | None = None
    """Standard errors from the share to the ends of that interval, at those ends."""
    excluded: Mapping[str, int] = field(default_factory=lambda: {"unreadable": 0, "failed": 0})
    """Calls without a verdict."""
    abstained: int = 0
    """Calls behind the figure that abstained; where there are any."""
    left_out: int = 0
    """Calls that abstained and that the figure leaves out, as with Cohen κ; where there are any."""
    bounds: tuple[float, float] | None = None
    """The value if all excluded calls went one way, and the other."""
    censored: str | None = None
    """`left` or `right` where the value is only a limit."""
    chance: float | None = None
    """What an indifferent judge would show."""
    status: str | None = keyed("finding", None)
    """`clear`, `flagged`, `inconclusive`; None where there is no limit and no test."""
    minimum_detectable: float | None = None
    """Smallest effect these data would have shown with 80 % power."""
    note: str | None = None
    """Assumptions, tests and reasons in words for people; what a program decides on has a key of its own."""
    calls_needed: int | None = None
    """Where inconclusive: calls of this design in all that decide in four runs of five if the value stays;
    None where no number of calls would."""
    reading: str | None = None
    """What several tests together allow one to say, or what a shift is a change of, in a word."""
    p: float | None = None
    """Of the test that the finding rests on, where it rests on one."""
    p_corrected: float | None = None
    """The same within the family of tests that it was declared with; the finding is read from this one."""
    reason: str | None = None
    """Code of why there is no value: `own_labels`, `same_label`, `same_label_and_score`, `too_few_pairs`,
    `unaccepted`."""
    missing_decides: bool = False
    """True where calls without a verdict decide: a word is withheld that the verdicts at hand would give."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What one metric alone knows: `rival`, the rule that a gain is over; `answer`, the commonest one or the
    slot farthest from even; `extreme_probe`; `slot_calls` with the better text in either slot, where uneven;
    `high_fails`, where the high answer does; `row_events`, rows all of whose calls show the event and rows
    some of whose do; `crossing` of a cue, where it and the worth disagree; where the worth of a cue is not
    the same in all areas `areas_p` of the test, `areas_higher` and `areas_lower`, and `areas_shown`, whether
    these are shown to differ from the others or have the highest and the lowest figure; `accepted`, written
    texts that another than their author accepted, and all; `suspect`, those that every judge of the run
    misses; `counted`, probes whose runs of agents merit was measured on."""

    def to_json(self) -> dict[str, Any]:
        """The row of `datasheet.json`."""
        body = {
            **{_KEYS.get(name, name): value for name, value in vars(self).items()},
            "group": dict(sorted(self.group.items())),
            "intervals": [interval.to_json() for interval in self.intervals],
            "excluded": dict(self.excluded),
            "bounds": None if self.bounds is None else list(self.bounds),
            "details": to_body(self.details),
        }
        for name, unset in _WHERE_SET.items():
            if body[name] == unset:
                del body[name]
        return body

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Estimate:
        """The estimate that was written; older folders have its details among the other keys."""
        held = mapping(body, where)
        older = {name: held[name] for name in _OLDER if held.get(name) is not None}
        details = {**older, **mapping(held.get("details", {}), f"{where}.details".removeprefix("."))}
        details = {name: tuple(each) if isinstance(each, list) else each for name, each in details.items()}
        return from_body(cls, {**held, "details": details}, where)

    @property
    def is_overall(self) -> bool:
        """True for the figure of the base protocol that is pooled over everything else."""
        return dict(self.group) == {"protocol": "base"}

    @property
    def calls_missing(self) -> int | None:
        """Calls still to be made out of `calls_needed`, which counts from the first; at least one."""
        return None if self.calls_needed is None else max(1, self.calls_needed - self.n_calls)

    @property
    def below_chance(self) -> bool:
        """The whole recommended interval lies below what an indifferent judge would show."""
        high = None if self.interval is None else self.interval.high
        return self.chance is not None and high is not None and high < self.chance

    @property
    def interval(self) -> Interval | None:
        """The recommended interval."""
        return self.intervals[0] if self.intervals else None

    @property
    def decides(self) -> Interval | None:
        """The interval that its word is read from: the recommended one, unless another is named so."""
        return next((each for each in self.intervals if each.method == DECIDES), self.interval)


_OLDER = ("rival", "answer", "extreme_probe", "slot_calls", "high_fails", "row_events", "crossing")
"""Details that stood beside the other keys before schema 2 had `details`."""
_KEYS = {"status": "finding"}
_WHERE_SET: dict[str, object] = {
    "abstained": 0,
    "left_out": 0,
    "effective_size": None,
    "quantile": None,
    "reason": None,
    "missing_decides": False,
    "details": {},
}
"""Fields that `datasheet.json` has only where they are set, and what they hold otherwise."""


@dataclass(frozen=True)
class Reason:
    """Why a figure has no value: a sentence for people, with the code that stands in `Estimate.reason`."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


Why = str | Reason
"""A reason that no program decides on is a sentence alone."""


class Sample(NamedTuple):
    """What a figure rests on: the calls that count, their units and clusters, and calls without a verdict."""

    n_calls: int
    n_units: int
    n_clusters: int
    excluded: Mapping[str, int] | None = None
    """None where nothing is left out."""

    @classmethod
    def over(cls, estimates: Sequence[Estimate]) -> Sample:
        """What a figure over several others rests on."""
        units, clusters = max(e.n_units for e in estimates), max(e.n_clusters for e in estimates)
        return cls(sum(e.n_calls for e in estimates), units, clusters)


NO_CALLS = "no calls in this condition"
NO_VERDICTS = "no call of this condition ended in a verdict"


class EstimateFields(TypedDict, total=False):
    """Fields of an `Estimate` that its context does not set; `Estimate` says what each means."""

    unit: str
    value: Required[float | None]
    numerator: int | None
    denominator: int | None
    intervals: tuple[Interval, ...]
    n_calls: int
    n_units: int
    n_clusters: int
    design_effect: float | None
    effective_size: float | None
    quantile: float | None
    excluded: Mapping[str, int]
    abstained: int
    left_out: int
    bounds: tuple[float, float] | None
    censored: str | None
    chance: float | None
    status: str | None
    minimum_detectable: float | None
    note: str | None
    calls_needed: int | None
    reading: str | None
    p: float | None
    p_corrected: float | None
    reason: str | None
    missing_decides: bool
    details: Mapping[str, Any]


@dataclass(frozen=True)
class EstimateContext:
    """Judge, probe and condition of an estimate, and the random streams that belong to them."""

    judge: str
    probe: str
    group: Group
    seed: int

    @classmethod
    def for_protocol(cls, judge: str, probe: str, protocol: str, seed: int) -> EstimateContext:
        """The context of all that a probe asked a judge under one protocol."""
        return cls(judge, probe, {"protocol": protocol}, seed)

    @property
    def protocol(self) -> str:
        """The protocol of the condition; `base` where it names none."""
        return str(self.group.get("protocol", "base"))

    def for_subgroup(self, **group: str | float) -> EstimateContext:
        """The context of a narrower condition."""
        return replace(self, group={**self.group, **group})

    def limit(self, metric: Metric) -> Limit | None:
        """The limit of a figure in this context; None where it has none."""
        return metric.limit_in(self.group, self.probe)

    def bootstrap_seed(self, figure: str) -> int:
        """Seed of a bootstrap: a random stream of its own for each figure."""
        group = canonical_json(dict(self.group))
        return seed_for(self.seed, "bootstrap", self.judge, self.probe, figure, group)

    def permutation_seed(self, figure: str) -> int:
        """A random stream for a permutation test: the same answers give the same p under any name."""
        return seed_for(self.seed, "deal", self.probe, figure, canonical_json(dict(self.group)))

    def estimate(
        self,
        metric: Metric,
        sample: Sample | None = None,
        notes: Iterable[str | None] = (),
        **fields: Unpack[EstimateFields],
    ) -> Estimate:
        """An estimate in this context, of calls where no unit is named, of a `sample` and with `notes`."""
        if sample is not None:
            fields["n_calls"], fields["n_units"], fields["n_clusters"] = sample[:3]
            fields["excluded"] = dict(sample.excluded or {"unreadable": 0, "failed": 0})
        fields.setdefault("unit", "call")
        fields.setdefault("note", join_notes(notes))
        return Estimate(self.judge, self.probe, metric.id, dict(self.group), **fields)

    def undefined(
        self, metric: Metric, reason: Why, unit: str = "call", excluded: Mapping[str, int] | None = None
    ) -> Estimate:
        """A figure that cannot be given, with the reason."""
        code = reason.code if isinstance(reason, Reason) else None
        sample = Sample(0, 0, 0, excluded)
        return self.estimate(metric, sample, unit=unit, value=None, note=str(reason), reason=code)
