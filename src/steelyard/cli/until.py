"""`--until verdict`: the looks of one study, measured or priced."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.say import shown
from steelyard.cli.study import open_study
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.commands.measure import Measurement, StudyAtProfile
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits
    from steelyard.runner.planner import PlanRow
    from steelyard.study.study import Study


def measure_sizes(options: dict[str, Any], limits: RunLimits) -> Measurement:
    """Go through the profiles until the verdict is decided."""
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.measure import measure_until_verdict

    sizes, folder = _sizes(options)
    with LiveProgress() as progress:
        return measure_until_verdict(sizes, folder, limits, progress)


def _sizes(options: dict[str, Any]) -> tuple[StudyAtProfile, RunFolder]:
    """The study at each profile, and the folder that all of them lie in."""
    from steelyard.commands.measure import FIRST, check_growth, default_folder
    from steelyard.run_folder.run_folder import RunFolder

    if options["profile"] is not None:
        raise ConfigError("--until: goes from profile to profile by itself; leave --profile out.")

    @cache
    def study_at(profile: str) -> Study:
        study, _, _ = open_study({**options, "profile": profile}, quiet=profile != FIRST)
        return study

    smallest = study_at(FIRST)
    check_growth(smallest)
    return study_at, RunFolder(options["out"]) if options["out"] else default_folder(smallest)


def print_sizes(options: dict[str, Any], as_json: bool) -> None:
    """What each look would still take, beyond the looks before it."""
    from rich.console import Console

    from steelyard.cli.plan_table import listed_prices, print_rows, total_row
    from steelyard.commands.measure import remaining_profiles
    from steelyard.run_folder.resume import require_same_study
    from steelyard.runner.planner import make_plan, plan_rows

    sizes, folder = _sizes(options)
    done: set[str] = set()
    if folder.database.exists():
        with folder.store() as store:
            done = store.answered()
    looks: list[tuple[str, list[PlanRow]]] = []
    for profile in remaining_profiles(folder):
        study = sizes(profile)
        if not looks:
            require_same_study(folder, study)
        plan = make_plan(study)
        baselines = {judge.name for judge in study.judges if judge.baseline}
        looks.append((profile, [row for row in plan_rows(plan, done) if row.judge not in baselines]))
        done |= {trial.key for trial in plan.calls}
    if as_json:
        body = [{"profile": profile, "rows": [asdict(row) for row in rows]} for profile, rows in looks]
        click.echo(json.dumps({"looks": body, "prices": listed_prices(study)}, indent=1))
        return
    console = Console()
    console.print(f"Plan of {study.name} until the verdict is decided, seed {study.seed}", highlight=False)
    console.print()
    print_rows([replace(total_row(rows), judge=profile) for profile, rows in looks], console, "look")
    console.print("Each look adds to the one before; it stops after the first that decides.")
    console.print("Tokens, dollars and time are estimates; nothing was spent.")
    click.echo(f"Run folder: {shown(folder.path)}")
