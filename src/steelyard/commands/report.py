"""A run folder read again, without a call: `report` rebuilds every figure from what was recorded.

`show` gives the most informative calls of a folder, by judge, probe and outcome; it writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example import FindingExample
from steelyard.datasheet.example_selection import FLIP, POSITIONAL, ExampleSelector
from steelyard.datasheet.results import Results
from steelyard.errors import ConfigError, RunError, StoreError, UnknownNameError
from steelyard.run_folder.call_examples import RunCalls
from steelyard.run_folder.publication import (
    Digests,
    Publication,
    build_publication,
    is_unchanged,
    losses_if_unchanged,
    stored_digests,
)
from steelyard.run_folder.published_files import read_datasheet
from steelyard.run_folder.run_folder import LINES, RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord, submitted
from steelyard.runner.run_messages import pending_calls
from steelyard.stimuli.original import ROTATION


@dataclass(frozen=True)
class RebuiltReport:
    datasheet: Datasheet
    losses: tuple[str, ...]
    unwritten: StoreError | None = None
    """Why the files could not be written; the figures stand."""


def publish(path: Path, *, anew: bool = False, verify: bool = False) -> RebuiltReport:
    """The figures of a folder, and its files; computed where they changed, or `anew` in any case.

    Where another process publishes while these are computed, what it read may be later: they are made again.
    """
    run = RunFolder(path)
    while True:
        before, stored = run.published, stored_digests(run)
        losses = None if anew or verify else losses_if_unchanged(run, stored)
        if losses is not None:
            return RebuiltReport(read_datasheet(path), losses)
        built = rebuild(path, stored, verify=verify)
        try:
            datasheet = built.write_unless_overtaken(run, before)
        except StoreError as error:
            return RebuiltReport(built.datasheet, built.losses, error)
        if datasheet is not None:
            return RebuiltReport(datasheet, built.losses)


def has_record(path: Path) -> bool:
    """Whether a folder holds what its figures are computed from: replies, or recorded verdicts."""
    run = RunFolder(path)
    return run.database.exists() or run.imported[0].exists()


def current_datasheet(path: Path) -> Datasheet:
    """The datasheet of a folder as its record has it; nothing is written.

    It is read where its stamp holds, and computed elsewhere: the file may have been edited, or be older than
    the replies. A datasheet alone is read as it is.
    """
    sheet, run = read_datasheet(path), RunFolder(path)
    stored = stored_digests(run)
    if not has_record(path) or is_unchanged(run, stored):
        return sheet
    return rebuild(path, stored).datasheet


def current_lines(path: Path) -> bytes:
    """`results.jsonl` of a folder as its record has it; likewise."""
    run = RunFolder(path)
    stored = stored_digests(run)
    if is_unchanged(run, stored):
        return (path / LINES).read_bytes()
    return "".join(rebuild(path, stored).results.jsonl()).encode()


def rebuild(path: Path, stored: Digests | None = None, *, verify: bool = False) -> Publication:
    """What the folder's record publishes; `stored` are the digests of its files where they are known."""
    run = RunFolder(path)
    stored = stored or stored_digests(run)
    imported = None if run.study.exists() else _rebuild_import(path, stored)
    if imported is not None:
        return imported
    plan = load_plan(run, verify=verify)
    with run.store(read_only=True) as store:
        damage = store.verify() if verify else []
        if damage:
            rows = pluralize(len(damage), "damaged row")
            raise StoreError(f"{run.database}: {rows}, the first: {damage[0]}; restore a copy.")
        record = RunRecord(store, plan.study.reference)
        coverage = record.coverage(plan.trials)
        if not coverage.own.answered:
            raise RunError(f"{path}: no call has a reply yet, so there is no datasheet; measure first.")
        waiting = len(submitted(store))
        built = build_publication(plan, record, stored)
    pending = pending_calls(coverage.headline, waiting) if plan.study.decides is None else ()
    return replace(built, losses=(*built.losses, *map(str, pending)))


def _rebuild_import(path: Path, stored: Digests | None) -> Publication | None:
    # Imported here: a measured run needs no readers of foreign files.
    from steelyard.commands.import_verdicts import ImportFolder

    folder = ImportFolder.at(path)
    if folder is None:
        return None
    loaded = folder.load()
    losses = (*loaded.warnings, *map(str, loaded.errors))
    return Publication(loaded.datasheet, Results(loaded.observations, loaded.baselines), losses, stored)


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
    from steelyard.commands.import_verdicts import ImportFolder

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
