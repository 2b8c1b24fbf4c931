"""`show`: the most informative calls of a folder, by judge, probe and outcome; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from steelyard.commands.import_verdicts import ImportFolder
from steelyard.datasheet.examples.example import FindingExample
from steelyard.datasheet.examples.selection import FLIP, POSITIONAL, ExampleSelector
from steelyard.errors import ConfigError, UnknownNameError
from steelyard.run_folder.call_examples import RunCalls
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord
from steelyard.stimuli.original import ROTATION


@dataclass(frozen=True)
class ShowRequest:
    judge: str | None = None
    probe: str | None = None
    outcome: str | None = None
    """One of `OUTCOMES`; whatever the outcome where none is named."""
    limit: int = 3


@dataclass(frozen=True)
class JudgeExamples:
    judge: str
    matching: int
    exhibits: Sequence[FindingExample]


def show(folder: Path, request: ShowRequest) -> list[JudgeExamples]:
    with open_calls(folder) as run_calls:
        calls = run_calls.observations
        under_test = [name for name in calls.judges if name not in run_calls.baselines]
        if request.judge is not None:
            _require("judge", request.judge, [*under_test, *sorted(run_calls.baselines)])
        if request.probe is not None:
            known = {*run_calls.probes, *calls.shown.probe.tolist()}
            _require("probe", request.probe, sorted(known))
        judges = [request.judge] if request.judge else under_test or calls.judges
        found = []
        for judge in judges:
            mine = calls.of_judge(judge)
            selector = ExampleSelector(mine)
            among = None if request.probe is None else run_calls.of_probe(request.probe, mine)
            chosen = selector.choose(request.outcome, request.limit, run_calls.seed, among)
            examples = [run_calls.example(group) for group in chosen]
            found.append(JudgeExamples(judge, selector.count(request.outcome, among), examples))
        compared = request.outcome in (FLIP, POSITIONAL) and not any(each.matching for each in found)
        if compared and ROTATION in calls.shown.kind:
            raise ConfigError(
                f"--outcome {request.outcome}: rotations of several responses are not compared call by call; "
                "see rotation consistency and slot preference on the datasheet, or use --outcome wrong."
            )
        return found


@contextmanager
def open_calls(folder: Path) -> Iterator[RunCalls]:
    """The calls of a measured run or of an import."""
    run, imported = RunFolder(folder), ImportFolder.at(folder)
    if imported is not None:
        yield RunCalls.of_import(*imported.read_observations())
        return
    plan = load_plan(run)
    with run.store(read_only=True) as store:
        yield RunCalls.of_run(plan, RunRecord(store, plan.study.reference))


def _require(noun: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}."
    raise UnknownNameError(f"no {noun} {name!r} in this folder: {hint}")
