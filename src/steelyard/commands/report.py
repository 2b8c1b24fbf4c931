"""A run folder read again: every figure rebuilt from what was recorded, without a call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.results import Results
from steelyard.errors import RunError, StoreError
from steelyard.run_folder.publication import Publication, build_publication
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord, submitted
from steelyard.runner.run_messages import call_warnings, decoding_caveats, missing_usage, pending_calls


@dataclass(frozen=True)
class RebuiltDatasheet(Publication):
    losses: tuple[str, ...]


def rebuild(path: Path, *, verify: bool = False) -> RebuiltDatasheet:
    run = RunFolder(path)
    imported = None if run.study.exists() else _rebuild_import(path)
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
        built = build_publication(plan, record)
    shortfalls = [
        *call_warnings(built.results.observations, path),
        *decoding_caveats(built.datasheet),
        *missing_usage(built.datasheet),
        *(pending_calls(coverage.headline, waiting) if plan.study.decides is None else ()),
    ]
    return RebuiltDatasheet(built.datasheet, built.results, tuple(map(str, shortfalls)))


def _rebuild_import(path: Path) -> RebuiltDatasheet | None:
    # Imported here: a measured run needs no readers of foreign files.
    from steelyard.commands.import_verdicts import ImportFolder

    folder = ImportFolder.at(path)
    if folder is None:
        return None
    loaded = folder.load()
    losses = (*loaded.warnings, *map(str, loaded.errors))
    return RebuiltDatasheet(loaded.datasheet, Results(loaded.observations, loaded.baselines), losses)
