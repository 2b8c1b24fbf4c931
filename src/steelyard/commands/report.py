"""A run folder read again: every figure rebuilt from what was recorded, without a call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.results import Results
from steelyard.errors import RunError, StoreError
from steelyard.run_folder.publication import Publication, build_publication
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.run_folder.stamp import Digests, stored_digests
from steelyard.runner.record import RunRecord, submitted
from steelyard.runner.run_messages import pending_calls


def rebuild(path: Path, stored: Digests | None = None, *, verify: bool = False) -> Publication:
    """What the folder's record publishes; `stored` are the digests of its files where they are known."""
    run = RunFolder(path)
    imported = None if run.study.exists() else _rebuild_import(path)
    if imported is not None:
        return imported
    stored = stored or stored_digests(run)
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


def _rebuild_import(path: Path) -> Publication | None:
    # Imported here: a measured run needs no readers of foreign files.
    from steelyard.commands.import_verdicts import ImportFolder

    folder = ImportFolder.at(path)
    if folder is None:
        return None
    loaded = folder.load()
    losses = (*loaded.warnings, *map(str, loaded.errors))
    return Publication(loaded.datasheet, Results(loaded.observations, loaded.baselines), losses)
