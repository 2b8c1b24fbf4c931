"""Runs of agents over all probes of a run: what a judge lets pass, and what it fails for nothing.

Every labelled run counts, as it is or edited. A score on the half of the scale that the failing answer ends
fails the run. Edits that break a run are told apart by what was done, by how many words it changed and by
where in the run it stands: a judge that does not read the middle passes what is broken there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Mask, Words, distinct
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import LOW, Basis, Group, Items, Limit, Metric, labelled
from steelyard.metrics.proportions import proportion
from steelyard.metrics.run.strata import MOST
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.edited_texts import RUNS
from steelyard.metrics.scores.shares import NO_LABELS, score_tally
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.brief import RUN_FAIL, RUN_LEVEL, RUN_PASS
from steelyard.verdicts.observations import Observations

PROBE = RUNS
ERROR_RATE = Metric(
    "error_rate",
    meaning="Labelled runs of agents, as they are or edited, whose verdict is not the expected one.",
    plain="wrong on agents' runs",
    direction=LOW,
    basis=Basis(items=Items.RUN, only=lambda calls, group: _labelled_runs(calls, group)[0]),
)
MISSED_FAILURES = Metric(
    "missed_failure_rate",
    "missed failures",
    "Runs of agents that should fail, as they are or edited, and that the judge passes; on edits that break "
    "a run, the false negative rate of the published harness.",
    plain="passes runs that should fail",
    limit=Limit(0.2, probes=(PROBE,)),
    basis=Basis(items=Items.RUN, only=lambda calls, group: _calls_behind(calls, group, failing=True)),
)
FALSE_ALARMS = Metric(
    "false_alarm_rate",
    "false alarms",
    "Runs of agents that should pass, as they are or edited, and that the judge fails; the false positive "
    "rate of the published harness.",
    plain="fails runs that should pass",
    limit=Limit(0.2, probes=(PROBE,)),
    basis=Basis(items=Items.RUN, only=lambda calls, group: _calls_behind(calls, group, failing=False)),
)
METRICS = (ERROR_RATE, MISSED_FAILURES, FALSE_ALARMS)

THIRDS = ("beginning", "middle", "end")
SIZES = ((5, "1 to 5 words"), (30, "6 to 30 words"), (float("inf"), "more than 30 words"))
"""Most words of an edit to what such edits are called."""
NONE_SUCH = {MISSED_FAILURES: "no labelled run should fail", FALSE_ALARMS: "no labelled run should pass"}


@dataclass(frozen=True, eq=False)
class Runs:
    scores: Scores
    edit: Words
    """Probe that made the run; `original` for a run as it is."""
    depth: Floats
    """Where the first message that an edit changed or added stands, 0 to 1; NaN where there is none."""
    words: Floats
    unchanged: Mask
    """Runs as they are. The built-in pack has two versions of each, one that passes and one that fails: which
    of them a probe calls the edited one is chance, and both count."""

    @classmethod
    def of(cls, observations: Observations) -> Runs:
        shown = observations.shown
        scores = collect_scores(observations.filter(stimuli=shown.run))
        places = {name: row for row, name in enumerate(shown.ids.tolist())}
        rows = np.array([places[name] for name in scores.stimuli], dtype=np.int64)[scores.stimulus]
        both = np.isin(shown.probe, (RUN_FAIL, RUN_PASS))
        pack = [bool(two) and made.of_pack for made, two in zip(shown.stimuli, both, strict=True)]
        plain = (shown.original | np.array(pack, dtype=np.bool_))[rows]
        return cls(scores, shown.probe[rows], shown.change_depth[rows], shown.changed_words[rows], plain)

    def where(self, mask: Mask) -> Runs:
        words, unchanged = self.words[mask], self.unchanged[mask]
        return Runs(self.scores.where(mask), self.edit[mask], self.depth[mask], words, unchanged)

    def fails(self, answers: Floats) -> Mask:
        span = self.scores.high - self.scores.low
        return np.asarray(np.abs(answers - self.scores.fail_value) < span / 2)

    @property
    def should_fail(self) -> Mask:
        return self.scores.labelled & self.fails(self.scores.expected)

    @property
    def should_pass(self) -> Mask:
        return self.scores.labelled & ~self.fails(self.scores.expected)

    @property
    def both(self) -> bool:
        """Whether some should fail and some should pass."""
        return bool(np.any(self.should_fail) and np.any(self.should_pass))

    @property
    def broken(self) -> Mask:
        """Edited runs that should fail, made from runs that did not fail already."""
        failing = distinct(self.scores.item[self.should_fail & self.scores.original])
        return self.should_fail & ~np.isnan(self.words) & ~np.isin(self.scores.item, failing)

    @property
    def failed(self) -> Mask:
        return self.scores.decided & self.fails(self.scores.score.astype(np.float64))


def kinds_of_edits(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Each kind of edits that earn an answer, by the name of its merit, with what it is compared with.

    Runs made to fail and runs made to pass are two halves of one kind. A kind of one answer alone stands
    beside the runs as they are, or, where these have no other answer, beside runs made to pass. Kinds that
    are not compared with anything are left out.
    """
    kinds = {PROBE: (RUN_FAIL, RUN_PASS), RUN_LEVEL: (RUN_LEVEL,), **{name: (name,) for name in BREAKING}}
    for name, probes in kinds.items():
        mine = np.isin(runs.edit, probes)
        beside = (mine, mine | runs.unchanged, mine | runs.unchanged | (runs.edit == RUN_PASS))
        found = (part for part in map(runs.where, beside) if part.both)
        if mine.any() and (part := next(found, None)) is not None:
            yield name, part


def run_estimates(judge: str, observations: Observations, seed: int) -> list[Estimate]:
    rows = observations.filter(protocol="base")
    if not np.any(rows.shown.run[rows.stimulus]):
        return []
    runs = Runs.of(rows)
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    known = runs.scores.where(runs.scores.labelled)
    tally = score_tally(known, known.decided & ~known.right, known.readable)
    errors = proportion(context, ERROR_RATE, tally, reason=None if len(known) else NO_LABELS)
    return [errors, *_rates(context, runs), *_parts(context, runs)]


def _rates(context: EstimateContext, runs: Runs) -> list[Estimate]:
    missed = _rate(context, MISSED_FAILURES, runs.where(runs.should_fail), failed=False)
    return [missed, _rate(context, FALSE_ALARMS, runs.where(runs.should_pass), failed=True)]


def _rate(context: EstimateContext, metric: Metric, runs: Runs, *, failed: bool) -> Estimate:
    rows = runs.scores
    tally = score_tally(rows, rows.decided & (runs.failed == failed), rows.readable)
    return proportion(context, metric, tally, reason=None if len(rows) else NONE_SUCH[metric])


def _parts(context: EstimateContext, runs: Runs) -> Iterator[Estimate]:
    """The two rates by what was done to the run and by stratum, then missed failures by place and by size."""
    parts = [("edit", runs.edit)]
    if 2 <= len(np.unique(runs.scores.stratum)) <= MOST:
        parts.append(("stratum", runs.scores.stratum))
    for key, names in parts:
        for name in np.unique(names).tolist():
            rates = _rates(context.for_subgroup(**{key: name}), runs.where(names == name))
            # A part without a figure counts where failed calls took it.
            yield from (e for e in rates if e.value is not None or any(e.excluded.values()))
    broken = runs.where(runs.broken)
    for name, mask in (*_thirds(broken.depth), *_sizes(broken.words)):
        if mask.any():
            here = context.for_subgroup(**{"place" if name in THIRDS else "size": name})
            yield _rate(here, MISSED_FAILURES, broken.where(mask), failed=False)


def _thirds(depth: Floats) -> Iterator[tuple[str, Mask]]:
    for number, name in enumerate(THIRDS):
        yield name, np.asarray(np.minimum(np.floor(depth * 3), 2) == number)


def _sizes(words: Floats) -> Iterator[tuple[str, Mask]]:
    least = 0.0
    for most, name in SIZES:
        yield name, np.asarray((least < words) & (words <= most))
        least = most


def _labelled_runs(calls: Observations, group: Group) -> tuple[Mask, Mask]:
    """Calls on labelled runs of agents, and those of them on runs that should fail."""
    shown = calls.shown
    known = labelled(calls, group) & ~np.isnan(shown.failing)[calls.stimulus]
    span = shown.ends[:, 1] - shown.ends[:, 0]
    fails = (np.abs(shown.expected - shown.failing) < span / 2)[calls.stimulus]
    return known, known & fails


def _calls_behind(calls: Observations, group: Group, *, failing: bool) -> Mask:
    """Calls on runs that should fail, or pass; of a place or size of the edit, on runs that it broke."""
    known, fails = _labelled_runs(calls, group)
    if "place" not in group and "size" not in group:
        return fails if failing else known & ~fails
    shown, row = calls.shown, calls.stimulus
    before = distinct(shown.item[row[fails & shown.original[row]]])
    words = shown.changed_words[row]
    broken = fails & ~np.isnan(words) & ~np.isin(shown.item[row], before)
    parts = dict([*_thirds(shown.change_depth[row]), *_sizes(words)])
    return np.asarray(broken & parts[str(group.get("place", group.get("size")))])
