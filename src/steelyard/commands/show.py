"""Showing the calls behind a figure: a folder is opened, its calls are chosen, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from steelyard.commands.import_verdicts import ImportFolder
from steelyard.datasheet.examples.example import Example
from steelyard.datasheet.examples.selection import ExampleSelector
from steelyard.errors import UnknownNameError
from steelyard.run_folder.call_examples import Evidence
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord


@dataclass(frozen=True)
class Wanted:
    """What to show."""

    judge: str | None = None
    """One judge; every judge under test where none is named."""
    probe: str | None = None
    """One probe; all of them where none is named."""
    outcome: str | None = None
    """`wrong`, `flip`, `positional`, `unreadable` or `failed`; whatever the outcome where none is named."""
    limit: int = 3
    """How many stimuli of each judge."""


@dataclass(frozen=True)
class Shown:
    """What was chosen of one judge."""

    judge: str
    """Name on the datasheet."""
    matching: int
    """How many stimuli there are to choose from."""
    exhibits: Sequence[Example]
    """The chosen ones, most telling first."""


def show(folder: Path, wanted: Wanted) -> list[Shown]:
    """The calls that were asked for, judge by judge."""
    with _evidence(folder) as evidence:
        calls = evidence.observations
        under_test = [name for name in calls.judges if name not in evidence.baselines]
        if wanted.judge is not None:
            _require("judge", wanted.judge, [*under_test, *sorted(evidence.baselines)])
        if wanted.probe is not None:
            known = {*evidence.probes, *calls.shown.probe.tolist()}
            _require("probe", wanted.probe, sorted(known))
        judges = [wanted.judge] if wanted.judge else under_test or calls.judges
        return [_of_judge(evidence, judge, wanted) for judge in judges]


def _of_judge(evidence: Evidence, judge: str, wanted: Wanted) -> Shown:
    mine = evidence.observations.of_judge(judge)
    cases = ExampleSelector(mine)
    among = None if wanted.probe is None else evidence.of_probe(wanted.probe, mine)
    chosen = cases.choose(wanted.outcome, wanted.limit, evidence.seed, among)
    matching = cases.count(wanted.outcome, among)
    return Shown(judge, matching, [evidence.exhibit(case) for case in chosen])


@contextmanager
def _evidence(folder: Path) -> Iterator[Evidence]:
    run, imported = RunFolder(folder), ImportFolder(folder)
    if imported.observations.exists() and not run.study.exists():
        yield Evidence.recorded(*imported.observed())
        return
    plan = load_plan(run)
    with run.store(read_only=True) as store:
        yield Evidence.of_run(plan, RunRecord(store, plan.study.reference))


def _require(noun: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}."
    raise UnknownNameError(f"no {noun} {name!r} in this folder: {hint}")
