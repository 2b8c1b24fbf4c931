"""A run folder read again: every figure rebuilt from what was recorded, without a call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.results import Results
from steelyard.errors import RunError, StoreError
from steelyard.run_folder.publication import build_datasheet, results_of
from steelyard.run_folder.published_files import write_datasheet, write_results
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord, submitted
from steelyard.runner.run_messages import call_warnings, decoding_caveats, missing_usage, pending_calls


@dataclass(frozen=True)
class RebuiltDatasheet:
    datasheet: Datasheet
    results: Results
    losses: tuple[str, ...]

    def write(self, folder: Path) -> Datasheet:
        """Every file of it; the datasheet comes back with what could not be drawn."""
        datasheet = write_datasheet(folder, self.datasheet)
        write_results(folder, self.results)
        return datasheet


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
        datasheet = build_datasheet(plan, record)
        results = results_of(plan, record)
        record.release()  # the columns of a million trials are not needed beside the files that are written
    shortfalls = [
        *call_warnings(results.observations, path),
        *decoding_caveats(datasheet),
        *missing_usage(datasheet),
        *(pending_calls(coverage.headline, waiting) if plan.study.decides is None else ()),
    ]
    return RebuiltDatasheet(datasheet, results, tuple(map(str, shortfalls)))


def _rebuild_import(path: Path) -> RebuiltDatasheet | None:
    # Imported here: a measured run needs no readers of foreign files.
    from steelyard.commands.import_verdicts import ImportFolder

    folder = ImportFolder.at(path)
    if folder is None:
        return None
    loaded = folder.load()
    losses = (*loaded.warnings, *map(str, loaded.errors))
    return RebuiltDatasheet(loaded.datasheet, Results(loaded.observations, loaded.baselines), losses)
