"""A folder of imported verdicts: normalised calls, where they came from, the datasheet and its next step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.arrays import distinct
from steelyard.core.files import atomic_write_text, write_error
from steelyard.core.json_dataclasses import to_body
from steelyard.core.registry import Spec
from steelyard.datasheet.conclusion import CARE, UNFIT, Conclusion, NextStep, Step
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.instrument_card import RECORDED, JudgeEntry
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.results import Results
from steelyard.datasheet.run_facts import Materials
from steelyard.errors import ConfigError, DataError, SteelyardError, UnknownNameError
from steelyard.importing.jsonl import RecordedSource
from steelyard.importing.pairs import PairTable, read_pairs
from steelyard.importing.scores import ScoreTable, holds_scores, read_scores, refuse_mixed
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.decomposition import ONE_ORDER
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY
from steelyard.metrics.proportions import ACCURACY, MERIT
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.edited_texts import EDITED_RUNS, WRITTEN
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.catalogue import vacuum_arm_estimates
from steelyard.probes.probe import POINTWISE, PROBES, Design, Probe, Showing, forms_of, shows_unchanged
from steelyard.run_folder.next_step import GATE, unaccepted_step, with_steps
from steelyard.run_folder.published_files import write_datasheet, write_results
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.sample_size_hint import sample_size_hint
from steelyard.runner.run_messages import call_warnings, judges_without_verdicts
from steelyard.stimuli.original import NATURAL_PROBE, ORIGINAL
from steelyard.verdicts.observations import Observations

PROFILE = "recorded"
SEED = 7


@dataclass(frozen=True)
class ImportResult:
    calls: PairTable | ScoreTable
    observations: Observations
    datasheet: Datasheet
    errors: tuple[SteelyardError, ...]
    warnings: tuple[str, ...]
    baselines: tuple[str, ...] = ()

    @property
    def calls_of_baselines(self) -> int:
        counts = self.observations.counts()
        return sum(number for (judge, _), number in counts.items() if judge in self.baselines)


class ImportFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.observations, self.source = RunFolder(path).imported

    @classmethod
    def at(cls, path: Path) -> ImportFolder | None:
        """The import that lies in a folder; None for a measured run."""
        folder = cls(path)
        return folder if folder.observations.exists() and not RunFolder(path).study.exists() else None

    def write(self, imported: ImportResult) -> Datasheet:
        """Calls first, then the datasheet in every format; another run or import is never overwritten.

        The datasheet comes back with what could not be drawn.
        """
        if RunFolder(self.path).study.exists():
            raise ConfigError(f"{self.path}: holds a measured run; choose another --out.")
        if self.observations.exists() and not _same(self.observations, imported.calls.lines()):
            raise ConfigError(f"{self.path}: holds other recorded verdicts; choose another --out.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.path, error) from error
        sheet = imported.datasheet
        atomic_write_text(self.observations, imported.calls.lines())
        source = {"name": sheet.name, "seed": sheet.seed, "observations": imported.calls.hashes[0]}
        source |= {"baselines": list(imported.baselines)} if imported.baselines else {}
        atomic_write_text(self.source, json.dumps(source, indent=1) + "\n")
        sheet = write_datasheet(self.path, sheet)
        write_results(self.path, Results(imported.observations, imported.baselines))
        return sheet

    def load(self) -> ImportResult:
        name, seed, expected, baselines = self._read_source()
        imported = import_verdicts([self.observations], name, seed, baselines=baselines)
        self._check(imported.calls, expected)
        return imported

    def read_observations(self) -> tuple[Observations, int, tuple[str, ...]]:
        _, seed, expected, baselines = self._read_source()
        recorded = read_recorded([self.observations])
        self._check(recorded.calls, expected)
        return recorded.observations, seed, baselines

    def _read_source(self) -> tuple[str, int, str, tuple[str, ...]]:
        try:
            body = json.loads(self.source.read_text(encoding="utf-8"))
            baselines = tuple(str(name) for name in body.get("baselines") or ())
            return str(body["name"]), int(body["seed"]), str(body["observations"]), baselines
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{self.source}: not the name and seed of an import ({error}); import the verdicts again."
            ) from error

    def _check(self, calls: PairTable | ScoreTable, expected: str) -> None:
        if calls.hashes[0] != expected:
            raise ConfigError(
                f"{self.observations}: not the calls that were imported here; restore the file, "
                "or import it into another --out."
            )


def import_verdicts(
    paths: Sequence[Path],
    name: str | None = None,
    seed: int = SEED,
    table: RecordedSource | None = None,
    baselines: Collection[str] = (),
) -> ImportResult:
    """Read recorded verdicts and build their datasheet; no call is made.

    `table` says how to read files that are tables with columns of their own, or Inspect logs; it may know
    of further baselines.
    """
    # Imported here, as in `build_datasheet`: what only reads a folder needs no metrics.
    from steelyard.datasheet.assemble import assemble
    from steelyard.run_folder.call_examples import RunCalls, with_examples

    recorded = read_recorded(paths, table)
    calls, observations = recorded.calls, recorded.observations
    beside = tuple(sorted({*baselines, *recorded.baselines}))
    entries = _entries(calls, beside)
    datasheet = assemble(
        name=name or paths[0].stem,
        seed=seed,
        profile=PROFILE,
        stimulus_set=calls.stimulus_set(),
        judges=entries,
        probes=recorded.probes,
        observations=observations,
        run={"calls": len(observations), "materials": to_body(Materials(recorded=True))},
    )
    silence = judges_without_verdicts([entry.name for entry in entries], observations, recorded=True)
    remarks = (*recorded.remarks, *call_warnings(observations))
    datasheet = with_examples(with_recorded_steps(datasheet), RunCalls.of_import(observations, seed, beside))
    return ImportResult(calls, observations, datasheet, tuple(silence), remarks, beside)


@dataclass(frozen=True)
class RecordedVerdicts:
    calls: PairTable | ScoreTable
    observations: Observations
    probes: Sequence[Probe]
    remarks: Sequence[str] = ()
    baselines: Collection[str] = ()


def read_recorded(paths: Sequence[Path], table: RecordedSource | None = None) -> RecordedVerdicts:
    lines = None if table is None else table.lines
    if table.scores if table else holds_scores(paths[0]):
        scores, assumed = read_scores(paths, lines)
        refuse_mixed(scores.distinct_texts, ", ".join(map(str, paths)))
        remarks, baselines = ((), ()) if table is None else (tuple(table.remarks), tuple(table.baselines))
        return RecordedVerdicts(
            scores, scores.observations(), score_probes(scores), (*remarks, *assumed), baselines
        )
    calls = read_pairs(paths, lines)
    observations = calls.observations()
    return RecordedVerdicts(calls, observations, _probes(observations))


def _same(path: Path, chunks: Iterable[str]) -> bool:
    with path.open("rb") as stream:
        same = all(stream.read(len(chunk)) == chunk for chunk in (text.encode() for text in chunks))
        return same and not stream.read(1)


def _entries(calls: PairTable | ScoreTable, baselines: Collection[str]) -> tuple[JudgeEntry, ...]:
    """Judges by name; the prompt is not known, so a protocol's fingerprint is that of its verdicts."""
    hashes: dict[str, dict[str, str]] = {}
    for (judge, protocol), digest in calls.hashes[1].items():
        hashes.setdefault(judge, {})[protocol] = digest
    return tuple(
        JudgeEntry(judge, RECORDED, judge in baselines, verdicts)
        for judge, verdicts in sorted(hashes.items())
    )


def _probes(observations: Observations) -> list[Probe]:
    shown = {
        (name, protocol)
        for name in ("vacuum", "ladder", "position")
        for protocol in observations.filter(name).protocols_seen
    }
    names = [name for name in ("vacuum", "ladder", "position") if any(probe == name for probe, _ in shown)]
    protocols = sorted({name for probe, name in shown if probe != "position" and name != "base"})
    specs = [*map(Spec, names), *(Spec("criterion", {"protocol": name}) for name in protocols)]
    return [PROBES.build(spec) for spec in specs]


def score_probes(table: ScoreTable) -> list[Probe]:
    wide = len(table.probes)
    codes = distinct(table.protocol * wide + table.probe).tolist()
    conditions = [(table.protocols[code // wide], table.probes[code % wide]) for code in codes]
    figures = sorted(conditions, key=lambda condition: (condition[0] != "base", condition))
    return [_score_probe(name, protocol, unchanged=name not in table.edited) for protocol, name in figures]


class RecordedProbe:
    question = "What do the recorded scores amount to?"
    metrics: tuple[Metric, ...] = METRICS
    forms: tuple[str, ...] = (POINTWISE,)

    def __init__(self, name: str, protocol: str, *, unchanged: bool) -> None:
        self.name = name
        self.protocol = protocol
        self.unchanged = unchanged

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del design, protocols
        return ()

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        if self.name == "vacuum":
            return vacuum_arm_estimates(
                EstimateContext.for_protocol(judge, "vacuum", self.protocol, seed), observations
            )
        return pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, self.protocol, seed),
            observations,
            unchanged=self.unchanged,
        )


def _score_probe(name: str, protocol: str, *, unchanged: bool) -> Probe:
    try:
        registered = PROBES.build(Spec(name))
    except UnknownNameError:
        return RecordedProbe(name, protocol, unchanged=unchanged)
    if POINTWISE not in forms_of(registered):
        raise DataError(
            f"recorded scores: probe {name!r} compares pairs, found scores of single texts; rename the probe."
        )
    if protocol == "base":
        return registered
    return RecordedProbe(name, protocol, unchanged=shows_unchanged(registered))


OWN_DATA = (ORIGINAL, NATURAL_PROBE, RUNS, *WRITTEN, *EDITED_RUNS)
ACCEPTED_HERE = "measure it here on written texts that a person or a second model accepted"


def with_recorded_steps(sheet: Datasheet) -> Datasheet:
    """The datasheet, each verdict with what to do next; no command here can ask the judge."""
    return with_steps(sheet, {verdict.judge: _recorded_step(sheet, verdict) for verdict in sheet.verdicts})


def _recorded_step(sheet: Datasheet, verdict: Conclusion) -> NextStep:
    prompts = JudgeEstimates(verdict.judge, sheet.look_up).protocols(MERIT.id)
    both = sheet.look_up.of(verdict.judge, ORDER_CONSISTENCY.id, NATURAL_PROBE)
    kind = Step.RECORD
    if verdict.advice is Advice.NO_SERVER:
        purpose = "record the failed calls again, and import all calls anew"
    elif (unaccepted := unaccepted_step(sheet, verdict, ACCEPTED_HERE)) is not None:
        purpose = unaccepted
    elif verdict.word in (UNFIT, CARE) or verdict.causes or verdict.advice is Advice.MOST_LOST:
        purpose = "after the change, record its verdicts again and import them"
    elif prompts and "base" not in prompts:
        purpose = "name the prompt that is to be judged “base”, and import its calls again"
    elif any(e.reason == ONE_ORDER.code for e in both):
        purpose = "record its verdicts on the same pairs in the other order, and import them with these"
    else:
        own = any(sheet.look_up.of(verdict.judge, ACCURACY.id, probe) for probe in OWN_DATA)
        rows = sample_size_hint(sheet, verdict.judge) if own else None
        purpose = "record its verdicts on more rows, and import them with these"
        if rows is not None:
            purpose = f"{rows.advice}, and import all of them"
        elif verdict.advice is Advice.NOTHING_OPEN:
            kind, purpose = Step.GATE, GATE
    return NextStep(purpose, step=kind.name)
