"""What was frozen when a run began: study, stimuli and plan lie in its folder, and only that goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.atomic_write import write_error, write_text
from steelyard.core.content_hash import NO_DIGESTS
from steelyard.errors import ConfigError, StoreError
from steelyard.run_folder.frozen_plan import freeze_plan, thaw_plan
from steelyard.run_folder.frozen_study import freeze, thaw
from steelyard.run_folder.published import JSON
from steelyard.run_folder.reread import reread
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.planner import Plan, make_plan
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.review_log import ReviewLog
from steelyard.study.study import Study


def prepare(folder: RunFolder, plan: Plan) -> Plan:
    """Freeze a plan here, or go on with the one that is here; it may gain judges and probes."""
    study = plan.study
    reread(folder, study)
    held = require(folder, study)
    if held is not None and held.hash == study.hash and not _half_grown(folder, study):
        _check_written(folder, plan)
        _check_stimuli(folder, plan)
        _keep_plan(folder, plan)
        looks = held.looks if study.looks is None else study.looks
        going_on = replace(study, command=held.command, decides=held.decides, looks=looks)
        if looks != held.looks:
            write_text(folder.study, freeze(going_on))
        return replace(plan, study=going_on)
    if study.looks:  # first, so that what is interrupted goes on at the larger profile
        write_text(folder.study, freeze(study))
    try:
        plan.kept.write(folder.stimuli)
    except OSError as error:
        raise write_error(folder.path, error) from error
    write_text(folder.study, freeze(study))
    _keep_plan(folder, plan)
    return plan


def _half_grown(folder: RunFolder, study: Study) -> bool:
    """Whether `--until verdict` was interrupted between the study of a larger profile and its stimuli."""
    if not study.looks:
        return False
    with folder.store() as store:
        return store.study != study.hash


def require(folder: RunFolder, study: Study) -> Study | None:
    """The study that lies here, if any; one that the other does not go on with is refused."""
    if not folder.study.exists():
        return None
    held = thaw(folder.study)
    check_replies(folder)
    _check_source(folder, held, study)
    if not study.extends(held) and not study.grows(held):
        differing = _difference(held, study)
        raise ConfigError(f"{folder.path}: holds another study ({differing}); choose another --out.")
    return held


def check_replies(folder: RunFolder) -> None:
    """Refuse to ask again what a datasheet says was answered, where the replies behind it are gone."""
    gone = not folder.database.exists() or not folder.database.stat().st_size
    if gone and (folder.path / JSON).exists():
        raise StoreError(
            f"{folder.database}: the replies behind datasheet.json are gone, and would be paid for again; "
            "restore the file, or choose another --out."
        )


def _check_source(folder: RunFolder, held: Study, study: Study) -> None:
    """Refuse data that have changed since they were frozen, even where the same items come of them."""
    if held.source is None or study.source is None:
        return
    changed = study.source.changed(held.source)
    if changed is None:
        return
    if changed not in held.source.files:
        raise ConfigError(f"{folder.path}: holds a study of other data than {changed}; choose another --out.")
    raise ConfigError(
        f"{folder.path}: {changed} has changed since this study was frozen (its SHA-256 is another); "
        "restore the file, or choose another --out."
    )


def _check_written(folder: RunFolder, plan: Plan) -> None:
    """Refuse to judge other written stimuli than those that were frozen."""
    if not plan.study.authored:
        return
    with folder.store(read_only=True) as store:
        frozen = store.planned().stimuli if store.has_plan else plan.hashes
    if frozen != plan.hashes and not _reviewed_anew(folder, plan):
        raise ConfigError(
            f"{folder.stimuli}: written stimuli were changed after the study was frozen; restore the file "
            "and review them anew with `steelyard review`, or choose another --out."
        )


def _reviewed_anew(folder: RunFolder, plan: Plan) -> bool:
    """Whether the written stimuli are those of the newest version that a review was finished with."""
    if not folder.reviews.exists():
        return False
    log = ReviewLog(folder.reviews)
    try:
        sets = log.sets()
    finally:
        log.close()
    written = {each.id: [each.lineage.review or "", each.hash] for each in plan.study.authored}
    return len(sets) > 1 and all(
        written.get(name) == list(member) for name, member in sets[-1].members.items()
    )


def _keep_plan(folder: RunFolder, plan: Plan) -> None:
    """Once per study, whatever interrupted the first attempt; again where its calls are others."""
    with folder.store() as store:
        frozen = store.planned().key if store.has_plan else NO_DIGESTS
        same = np.array_equal(np.sort(frozen), np.sort(plan.trials.key))
        if store.study != plan.study.hash or not same:
            store.freeze(plan.study.hash, freeze_plan(plan))


def load_plan(folder: RunFolder) -> Plan:
    """The plan of the study that lies here, from its frozen stimuli alone; nothing is written."""
    for path in (folder.study, folder.stimuli, folder.database):
        if not path.exists():
            raise ConfigError(
                f"{folder.path}: no {path.name} found, expected a run folder that `measure` wrote."
            )
    study = thaw(folder.study)
    with folder.store(read_only=True) as store:
        if store.study != study.hash:
            raise ConfigError(
                f"{folder.study}: not the study of the replies in {folder.database.name}; restore the file."
            )
        planned = store.planned() if store.has_plan else None
    if planned is not None:
        return thaw_plan(study, planned, folder.stimuli)
    plan = make_plan(study)
    _check_stimuli(folder, plan)
    return plan


def _check_stimuli(folder: RunFolder, plan: Plan) -> None:
    frozen = StimulusSet.read(folder.stimuli).judged
    if frozen.hash != plan.stimuli.hash:
        raise ConfigError(
            f"{folder.stimuli}: the stimuli differ from those this version builds "
            f"({frozen.hash[7:15]} against {plan.stimuli.hash[7:15]}); "
            "restore the file, use the version that measured, or measure into another --out."
        )


def _difference(held: Study, wanted: Study) -> str:
    parts = ("name", "seed", "profile", "replicates", "probes", "judges", "task", "reference", "writers")
    differing = [part for part in parts if getattr(held, part) != getattr(wanted, part)]
    differing += ["items"] if held.items_hash != wanted.items_hash else []
    single = len(differing) == 1 and not differing[0].endswith("s")
    return f"{', '.join(differing)} {'differs' if single else 'differ'}"
