"""A run folder read again: every figure rebuilt from what was recorded, without a call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.results import Results
from steelyard.errors import RunError, StoreError
from steelyard.run_folder.publication import Publication, build_publication
from steelyard.run_folder.published_files import read_datasheet
from steelyard.run_folder.run_folder import LINES, RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.run_folder.stamp import Digests, is_unchanged, losses_if_unchanged, stored_digests
from steelyard.runner.record import RunRecord, submitted
from steelyard.runner.run_messages import pending_calls


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
