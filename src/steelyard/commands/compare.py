"""Two judges from run folders or imports, paired on the stimuli that both were shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from steelyard.commands.import_verdicts import ImportFolder
from steelyard.core.files import no_such
from steelyard.core.text import pluralize
from steelyard.datasheet.comparison.sheet import ComparisonSheet, Side
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.run_facts import partial_words
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.comparison.comparison import Comparison, compare, compare_worths
from steelyard.metrics.comparison.unit_events import SAME_VERDICT, UnitEvents, unit_events
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import MARGIN
from steelyard.metrics.instrument.crossing import TRADEOFF
from steelyard.metrics.proportions import proportion
from steelyard.metrics.stats.clusters import Tally
from steelyard.probes.probe_metadata import metrics_of, reading_order
from steelyard.probes.tradeoff import cue_estimates
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunCoverage, RunRecord
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Failed, Unreadable
from steelyard.version import __version__


@dataclass(frozen=True)
class Target:
    """`DIR[:JUDGE]` as it was given."""

    folder: Path
    judge: str | None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Split at the last colon that follows an existing folder; judges and drives hold colons too."""
        if Path(text).is_dir():
            return cls(Path(text), None)
        for place in range(len(text) - 1, 0, -1):
            if text[place] == ":" and Path(text[:place]).is_dir():
                return cls(Path(text[:place]), text[place + 1 :])
        raise ConfigError(
            f"{text}: {no_such(Path(text), 'folder')}, expected DIR or DIR:JUDGE with a run folder as DIR."
        )


@dataclass(frozen=True)
class Verdicts:
    folder: Path
    judges: tuple[JudgeEntry, ...]
    observations: Observations
    stimulus_set: str
    recorded: bool
    """True where the texts are not known, so that stimuli have names only."""
    coverage: RunCoverage | None = None
    """How much of the plan was asked; None for an import, which has no plan."""
    reference: str | None = None
    """Judge whose verdicts on the originals are the labels; None where they are not a judge's."""
    resting: frozenset[str] = frozenset()
    """That judge, and those that are made of it."""

    def pick(self, judge: str | None) -> JudgeEntry:
        if judge is None:
            own = [entry for entry in self.judges if not entry.baseline] or list(self.judges)
            if len(own) == 1:
                return own[0]
            raise ConfigError(
                f"{self.folder}: holds {pluralize(len(own), 'judge')}, expected one to be named; "
                f"write {self.folder}:JUDGE with one of {_names(own)}."
            )
        for entry in self.judges:
            if entry.name == judge:
                return entry
        raise ConfigError(f"{self.folder}: no judge {judge!r}, expected one of {_names(self.judges)}.")

    def for_stratum(self, stratum: str) -> Verdicts:
        shown = self.observations.shown
        known = sorted(set(shown.stratum.tolist()))
        if stratum not in known:
            close = get_close_matches(stratum, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(known)}."
            raise ConfigError(f"{self.folder}: no stratum {stratum!r}; {hint}")
        return replace(self, observations=self.observations.filter(stimuli=shown.stratum == stratum))

    def of(self, judge: str) -> Observations:
        """The observations of one judge; what rests on its own verdicts holds nothing against it."""
        mine = self.observations.of_judge(judge)
        if judge not in self.resting:
            return mine
        return replace(mine, own_label=np.ones(len(mine), dtype=np.bool_))

    def partial(self, judge: str) -> str | None:
        """`Partial: 183 of 660 calls` where some calls of a judge were never asked."""
        covered_calls = None if self.coverage is None else self.coverage.judges.get(judge)
        if covered_calls is None or not covered_calls.partial:
            return None
        return partial_words(covered_calls.asked, covered_calls.planned)


def load_verdicts(folder: Path) -> Verdicts:
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: {no_such(folder, 'folder')}, expected one that `measure` or `import` wrote."
        )
    run, imported = RunFolder(folder), ImportFolder.at(folder)
    if imported is not None:
        recorded = imported.load()
        sheet = recorded.datasheet
        observations = recorded.calls.observations()
        return Verdicts(folder, sheet.judges, observations, sheet.stimulus_set, recorded=True)
    plan = load_plan(run)
    with run.store(read_only=True) as store:
        record = RunRecord(store, plan.study.reference)
        observations = record.observations(plan.trials)
        coverage = record.coverage(plan.trials)
    return Verdicts(
        folder,
        tuple(JudgeEntry.of(judge, ["base"]) for judge in plan.study.judges),  # others are not compared
        observations,
        plan.stimuli.hash,
        recorded=False,
        coverage=coverage,
        reference=plan.study.reference,
        resting=frozenset(j.name for j in plan.study.judges if j.rests_on(plan.study.reference)),
    )


def compare_targets(
    first: Target, second: Target, margin: float = MARGIN, stratum: str | None = None
) -> ComparisonSheet:
    left = load_verdicts(first.folder)
    same = first.folder.resolve() == second.folder.resolve()
    right = left if same else load_verdicts(second.folder)
    if stratum is not None:
        left, right = left.for_stratum(stratum), right.for_stratum(stratum)
        right = left if same else right
    sheet = compare_judges(left, left.pick(first.judge), right, right.pick(second.judge), margin)
    return replace(sheet, stratum=stratum)


def compare_judges(
    left: Verdicts, first: JudgeEntry, right: Verdicts, second: JudgeEntry, margin: float = MARGIN
) -> ComparisonSheet:
    if left is right and first.name == second.name:
        raise ConfigError(f"{left.folder}: {first.name!r} against itself, expected two judges; name another.")
    mine, other, shared = paired_events(left, first, right, second)
    family = compare(mine, other, margin, reading_order())
    by_name = left.recorded or right.recorded
    same = _same_verdicts(left.of(first.name), right.of(second.name), by_name=by_name)
    worths = _worths(left.of(first.name), right.of(second.name), shared, by_name=by_name)
    matched = "name" if by_name else "content"
    sides = _side(left, first), _side(right, second)
    return ComparisonSheet(
        *sides, matched, margin, __version__, (*family.rows, *worths), family.p, family.faults, same=same
    )


def paired_events(
    left: Verdicts, first: JudgeEntry, right: Verdicts, second: JudgeEntry
) -> tuple[UnitEvents, UnitEvents, frozenset[str]]:
    """The units of both judges, and what both were shown: texts, or names where texts are not known."""
    by_name = left.recorded or right.recorded

    def identity(stimulus: Stimulus) -> str:
        return stimulus.id if by_name else stimulus.shown_hash

    mine, other = left.of(first.name), right.of(second.name)
    seen, compared = (frozenset(map(identity, one.stimuli_seen)) for one in (mine, other))
    if not seen & compared:
        what = "pair names" if by_name else "contents"
        raise DataError(
            f"{left.folder} and {right.folder}: no stimulus in common ({len(seen)} and {len(compared)} "
            f"{what}), expected some; measure both judges with the same seed, profile and data."
        )
    return unit_events(mine, identity, metrics_of), unit_events(other, identity, metrics_of), seen & compared


def _same_verdicts(first: Observations, second: Observations, *, by_name: bool) -> Estimate:
    """How many of the calls that both answered got the same verdict."""

    def answered(rows: Observations) -> dict[tuple[str, str, str, int], Observation]:
        return {
            (
                call.stimulus.id if by_name else call.stimulus.shown_hash,
                call.protocol,
                call.order,
                call.replicate,
            ): call
            for call in rows
            if not isinstance(call.verdict, Unreadable | Failed)
        }

    mine, theirs = answered(first), answered(second)
    both = [(mine[call], theirs[call]) for call in sorted(mine.keys() & theirs.keys())]
    clusters, cluster = np.unique([call.stimulus.cluster for call, _ in both], return_inverse=True)
    same = np.array([call.verdict == other.verdict for call, other in both], dtype=np.int64)
    events, calls = (
        np.bincount(cluster, weights, len(clusters)).astype(np.int64) for weights in (same, None)
    )
    units = len({call.stimulus.unit for call, _ in both})
    counts = Tally(events, calls, n_calls=len(both), n_units=units)
    return proportion(EstimateContext("", "run", {}, 0), SAME_VERDICT, counts)


def _worths(
    first: Observations, second: Observations, shared: Collection[str], *, by_name: bool
) -> list[Comparison]:
    """Differences of the worths of cues, on the pairs that both judges were shown; none without any."""
    sides = []
    for rows in (first, second):
        names = [stimulus.id if by_name else stimulus.shown_hash for stimulus in rows.shown.stimuli]
        here = rows.filter(protocol="base", stimuli=np.isin(names, sorted(shared)))
        if not len(here.filter(TRADEOFF)):
            return []
        sides.append(cue_estimates(EstimateContext.for_protocol("", TRADEOFF, "base", 0), here))
    return compare_worths(*sides)


def _side(verdicts: Verdicts, judge: JudgeEntry) -> Side:
    return Side(
        judge.name,
        judge.model,
        str(verdicts.folder),
        verdicts.stimulus_set,
        verdicts.partial(judge.name),
        verdicts.reference,
        dict(judge.instruments),
        judge.made,
    )


def _names(judges: Sequence[JudgeEntry]) -> str:
    return ", ".join(entry.name for entry in judges)
