"""The main job: run what is open, then rebuild the datasheet from the store."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import RunError
from steelyard.run_folder.frozen_run import prepare
from steelyard.run_folder.publication import publish
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.budget import check_prices
from steelyard.runner.conduct import conduct
from steelyard.runner.limits import RunLimits
from steelyard.runner.planner import make_plan
from steelyard.runner.progress import Progress
from steelyard.runner.record import Record
from steelyard.runner.runner import Runner
from steelyard.runner.shortfalls import speechless, stops, uncomputed, uncounted, untaken, warnings
from steelyard.runner.sitting import Ending
from steelyard.study.study import Study


@dataclass(frozen=True)
class Measurement(Ending):
    """What a sitting of `measure` brought."""

    folder: RunFolder
    """Where everything lies."""
    datasheet: Datasheet | None
    """Built from all replies so far; None where there are none."""

    def require(self) -> Datasheet:
        """The datasheet of a finished run; what kept it from its end is raised."""
        if self.errors or self.datasheet is None:
            raise self.errors[0] if self.errors else RunError(f"{self.folder.path}: no call has a reply.")
        return self.datasheet


def measure(
    study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
) -> Measurement:
    """Run or resume a study in a folder and publish its datasheet.

    What the caller must mend (a rejected key, an unknown model) is raised; replies that arrived are kept.
    """
    check_prices(study.judges, limits)
    plan = make_plan(study)  # before the folder exists: what is refused leaves nothing behind
    if not plan.trials:
        raise RunError(
            f"{folder.path}: nothing to judge, since no probe has a stimulus that may be shown; "
            "look at what was rejected in stimuli.jsonl, or add a probe."
        )
    with folder.locked():
        plan = prepare(folder, plan)
        with folder.store() as store:
            record = Record(store, study.reference)
            runner = Runner(record, limits, progress, record.authoring.dollars)
            sitting = conduct(runner, lambda runner: runner.run(plan.trials))
            datasheet = publish(folder, plan, record)
            coverage = record.coverage(plan.trials).headline
            observations = record.observations(plan.trials)
    names, where = [judge.name for judge in study.judges], folder.path
    errors = [*stops(sitting, coverage, where), *speechless(names, observations, where, sitting.given_up)]
    if datasheet is None:
        return Measurement(sitting, tuple(errors), (), folder, None)
    errors += uncomputed(datasheet.faults)
    losses = (*warnings(observations, where), *untaken(datasheet), *uncounted(datasheet))
    return Measurement(sitting, tuple(errors), losses, folder, datasheet)
