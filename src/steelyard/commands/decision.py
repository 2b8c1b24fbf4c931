"""A rule that a sequential run decides, what it found about one judge, and the log of its looks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.files import atomic_write_text
from steelyard.errors import ConfigError
from steelyard.metrics.instrument.crossing import TRADEOFF
from steelyard.metrics.instrument.worth_estimates import WORTH
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Pairs, neither
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.stats.intervals import ALPHA, refuted, sequence_limits
from steelyard.probes.probe import PAIRWISE, POINTWISE, REPEATS
from steelyard.probes.probe_metadata import installed_probes, metrics_of, probes_in
from steelyard.stimuli.cues import CUES
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus

BUILT_IN = "built-in"
SAMPLED_FROM = {
    BUILT_IN: "the built-in pairs",
    PAIRWISE: "pairs of your data",
    POINTWISE: "single texts of your data",
}
FORM = re.compile(
    r"\s*(?P<metric>\w+)\s*(?:@\s*delta\s*=\s*(?P<delta>[0-9.]+)\s*)?(?:@\s*cue\s*=\s*(?P<cue>\w+)\s*)?"
    r"(?P<side>[<>])\s*(?P<limit>[0-9.eE+-]+)\s*"
)
BINARY = "binary"
EVEN = 0.5
"""Preference at the step that a cue is worth."""


@dataclass(frozen=True)
class DecisionRule:
    """`dark_current<0.1`, `target_sensitivity@delta=1>0.8`, `cue_worth@cue=padding<1`.

    A cue is worth less than a step where the worse text, which has it, wins less than even at that step. Of
    single texts it is worth less than a level where a text with it outscores one that is labelled a level
    higher in less than half of the comparisons, an equal score counted half.
    """

    metric: str
    side: str
    limit: float
    delta: float | None = None
    form: str = BUILT_IN
    """Whose stimuli are drawn: the catalogue's pairs, or pairs or single texts of the user's data."""
    cue: str | None = None
    """The cue whose worth is asked for; `limit` is the step, or the levels, at which pairs are drawn."""

    def __str__(self) -> str:
        step = "" if self.delta is None else f"@delta={self.delta:g}"
        cue = "" if self.cue is None else f"@cue={self.cue}"
        return f"{self.metric}{step}{cue}{self.side}{self.limit:g}"

    @property
    def probe(self) -> str:
        return TRADEOFF if self.cue is not None else decidable(self.form)[self.metric][0]

    @property
    def figure(self) -> Metric:
        return WORTH if self.cue is not None else decidable(self.form)[self.metric][1]

    @property
    def share_limit(self) -> float:
        """What the mean over the pairs is held against."""
        return self.limit if self.cue is None else EVEN

    @property
    def noun(self) -> str:
        return "row" if self.form == POINTWISE and self.cue is None else "pair"

    def concerns(self, stimulus: Stimulus) -> bool:
        if self.cue is not None and self.form == POINTWISE:
            mine = stimulus.kind == ORIGINAL or (stimulus.probe, stimulus.kind) == (TRADEOFF, self.cue)
            return mine and stimulus.labelled and stimulus.scale != BINARY
        if self.cue is not None:
            return (stimulus.probe, stimulus.kind, stimulus.delta) == (TRADEOFF, self.cue, self.limit)
        figure = self.figure
        return (
            stimulus.probe == (ORIGINAL if self.form == POINTWISE else self.probe)
            and bool(figure.conditions(stimulus.kind, stimulus.delta))
            and (stimulus.labelled or not figure.labelled)
            and (self.delta is None or stimulus.delta == self.delta)
        )

    def share(self, columns: Pairs | Scores) -> Floats:
        """What each complete pair or call contributes: its event, or the share of its calls with it."""
        if isinstance(columns, Pairs) and self.cue is not None:
            return np.asarray(np.where(neither(columns.calls), EVEN, columns.wins("v")).mean(axis=1))
        if isinstance(columns, Scores) and self.cue is not None:
            upward = columns.with_pass_high
            cued, plain = upward.score[~upward.original], upward.score[upward.original]
            lifted = (cued[:, None] > plain) + EVEN * (cued[:, None] == plain)
            return np.asarray(1 - lifted if CUES[self.cue].on_better else lifted)
        events = self.figure.events(columns).astype(np.float64)
        return np.asarray(events.reshape(len(columns), -1).mean(axis=1))


@cache
def decidable(form: str = BUILT_IN) -> Mapping[str, tuple[str, Metric]]:
    """Metrics by their ids, with the probe: shares of what is drawn, or of its calls."""
    # Stimuli have to be drawn one by one: of data, those that show items as they are.
    probes = [
        name
        for name, probe in installed_probes().items()
        if PAIRWISE in getattr(probe, "forms", (PAIRWISE,))
        and bool(getattr(probe, "needs", "")) == (form == PAIRWISE)
    ]
    shares: dict[str, tuple[str, Metric]] = {}
    for name in probes_in(REPEATS) if form == POINTWISE else probes:
        for metric in metrics_of(name):
            if metric.event is not None:
                shares.setdefault(metric.id, (name, metric))
    return shares


def parse_rule(text: str, form: str = BUILT_IN) -> DecisionRule:
    def wrong(problem: str) -> ConfigError:
        return ConfigError(f"--until {text!r}: {problem}.")

    if form not in SAMPLED_FROM:
        raise wrong("draws pairs or single texts, found rows of several responses; leave --until out")
    match = FORM.fullmatch(text)
    if match is None:
        raise wrong("expected verdict, or a rule such as dark_current<0.10")
    metric, delta = match["metric"], match["delta"]
    if metric in (WORTH.id, "worth"):
        return _worth_rule(match, form, wrong)
    if match["cue"] is not None:
        raise wrong(f"{metric} has no cue; leave @cue out")
    known = decidable(form)
    if metric not in known:
        elsewhere = [other for other in (BUILT_IN, PAIRWISE, POINTWISE) if metric in decidable(other)]
        hint = f" ({metric} belongs to {SAMPLED_FROM[elsewhere[0]]})" if elsewhere else ""
        raise wrong(f"unknown metric {metric!r} of {SAMPLED_FROM[form]}{hint}; known: {', '.join(known)}")
    limit = _number(match["limit"])
    if limit is None or not 0 < limit < 1:
        raise wrong(f"found the limit {match['limit']}, expected a number between 0 and 1")
    step = None if delta is None else _number(delta)
    by_step = known[metric][1].by_step and form == BUILT_IN
    if by_step and not step:
        raise wrong(f"{metric} belongs to a quality step; write {metric}@delta=1")
    if delta is not None and not by_step:
        raise wrong(f"{metric} has no quality step; leave @delta out")
    return DecisionRule(metric, match["side"], limit, step, form)


def _worth_rule(match: re.Match[str], form: str, wrong: Callable[[str], ConfigError]) -> DecisionRule:
    cue, limit = match["cue"], _number(match["limit"])
    if form == PAIRWISE or match["delta"] is not None or cue not in CUES:
        example = f"write {WORTH.id}@cue=padding<1, with one of {', '.join(CUES)}"
        whose = f"{SAMPLED_FROM[BUILT_IN]}, or of {SAMPLED_FROM[POINTWISE]}"
        raise wrong(f"{WORTH.id} belongs to a cue of {whose}; {example}")
    if form == POINTWISE and (limit is None or limit < 1 or limit != int(limit)):
        raise wrong(f"found the limit {match['limit']}, expected whole levels of the scale, such as 1")
    if form == BUILT_IN and limit not in (1.0, 2.0, 3.0, 5.0):
        raise wrong(f"found the limit {match['limit']}, expected a step that is shown: 1, 2, 3 or 5")
    return DecisionRule(WORTH.id, match["side"], limit or 0.0, form=form, cue=cue)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


SCHEMA = "steelyard.decision/1"


@dataclass(frozen=True)
class InterimLook:
    units: int
    excluded: int
    """Pairs that lack a verdict; they are no part of the sum."""
    calls: int
    """Calls made for all pairs drawn so far."""
    total: float
    """Sum over the pairs of the mean over their calls."""
    low: float
    high: float

    @classmethod
    def at(cls, units: int, excluded: int, calls: int, total: float) -> InterimLook:
        return cls(units, excluded, calls, total, *sequence_limits(total, units))


def side_of(limit: float, total: float, units: int) -> str | None:
    """`above` or `below` the limit, with the error of the sequence; None while the limit is not refuted."""
    if not units or not refuted(total, units, limit):
        return None
    return "above" if total > limit * units else "below"


@dataclass(frozen=True)
class StoppingDecision:
    judge: str
    fingerprint: str
    rule: DecisionRule
    cap: int
    looks: tuple[InterimLook, ...]

    @property
    def last(self) -> InterimLook:
        return self.looks[-1] if self.looks else InterimLook.at(0, 0, 0, 0.0)

    @property
    def verdict(self) -> str:
        """`above`, `below`, `inconclusive` (cap reached) or `unfinished`."""
        last = self.last
        open_word = "inconclusive" if last.units + last.excluded >= self.cap else "unfinished"
        return side_of(self.rule.share_limit, last.total, last.units) or open_word

    @property
    def holds(self) -> bool | None:
        """None where nothing is decided."""
        return {"above": self.rule.side == ">", "below": self.rule.side == "<"}.get(self.verdict)

    @property
    def is_robust(self) -> bool:
        """True where the verdict is the same whatever the excluded pairs would have shown."""
        last, limit = self.last, self.rule.share_limit
        drawn = last.units + last.excluded
        extremes = {side_of(limit, total, drawn) for total in (last.total, last.total + last.excluded)}
        return extremes == {side_of(limit, last.total, last.units)}

    def to_json(self) -> dict[str, Any]:
        last = self.last
        return {
            "rule": str(self.rule),
            "judge": self.judge,
            "fingerprint": self.fingerprint,
            "verdict": self.verdict,
            "holds": self.holds,
            "cap": self.cap,
            "units": last.units,
            "excluded": last.excluded,
            "calls": last.calls,
            "total": last.total,
            "interval": {
                "method": "beta_binomial_sequence",
                "level": 1 - ALPHA,
                "low": last.low,
                "high": last.high,
            },
            "same_if_excluded_counted": self.is_robust,
            "looks": [asdict(look) for look in self.looks],
        }


def write_decisions(path: Path, decisions: Sequence[StoppingDecision]) -> None:
    bodies = [*read_decisions(path), *(decision.to_json() for decision in decisions)]
    latest = {(body["rule"], body["judge"]): body for body in bodies}
    ordered = [latest[key] for key in sorted(latest)]
    atomic_write_text(path, json.dumps({"schema": SCHEMA, "decisions": ordered}, indent=1) + "\n")


def read_decisions(path: Path) -> list[dict[str, Any]]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise ValueError(f"schema is {body['schema']!r}")
        return [_read_entry(entry) for entry in body["decisions"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a log of decisions ({error}); restore or remove the file.") from error


def _read_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the log; earlier versions wrote `underpowered` for `inconclusive`."""
    entry = {**entry, "rule": str(entry["rule"]), "judge": str(entry["judge"])}
    return {**entry, "verdict": "inconclusive"} if entry.get("verdict") == "underpowered" else entry
