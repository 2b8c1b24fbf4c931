"""`measure --until`: measurements that stop once the verdict, or a rule, is decided."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import StudyOptions, data_overrides
from steelyard.cli.output import describe_calls, display_path, plain, print_results
from steelyard.cli.study import MeasureOptions, consent_of, open_study, print_destinations, run_limits
from steelyard.core.foreign_code import without_code
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from steelyard.commands.decide import Decisions
    from steelyard.commands.decision import DecisionRule, StoppingDecision
    from steelyard.commands.measure import Measurement, StudyAtProfile
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.costs import PlanRow
    from steelyard.study.study import Study


def measure_sizes(options: MeasureOptions) -> Measurement:
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.measure import FIRST, measure_until_verdict

    sizes, folder = _sizes(options, calls=True)
    print_destinations(options, sizes(FIRST))
    with LiveProgress() as progress:
        return measure_until_verdict(sizes, folder, options.limits, progress)


def _sizes(options: StudyOptions, *, calls: bool) -> tuple[StudyAtProfile, RunFolder]:
    from steelyard.commands.measure import FIRST, check_growth, default_folder

    if options.profile is not None:
        raise ConfigError("--until: sets the profile itself; remove --profile.")

    @cache
    def study_at(profile: str) -> Study:
        study, _, _ = open_study(replace(options, profile=profile), calls=calls, quiet=profile != FIRST)
        return study

    smallest = study_at(FIRST)
    check_growth(smallest)
    return study_at, options.folder or default_folder(smallest)


def print_sizes(options: StudyOptions, as_json: bool) -> None:
    from rich.console import Console

    from steelyard.cli.plan_table import listing, price_list, print_listing, print_rows
    from steelyard.commands.measure import remaining_profiles
    from steelyard.providers.provider import destinations
    from steelyard.run_folder.resume import calls_made, require_same_study, with_found_readers
    from steelyard.runner.costs import PlanRow, plan_rows
    from steelyard.study.planner import make_plan

    sizes, folder = _sizes(options, calls=False)
    done = set.union(*calls_made(folder))
    looks: list[tuple[str, list[PlanRow]]] = []
    for profile in remaining_profiles(folder):
        study = with_found_readers(sizes(profile), folder)
        if not looks:
            require_same_study(folder, study)
        with without_code():
            plan = make_plan(study)
        rows = plan_rows(plan.asked(done))
        looks.append((profile, [row for row in rows if row.judge not in study.baselines]))
        done |= {trial.key for trial in plan.calls}
    with without_code():
        places = destinations(study.judges)
    if as_json:
        body = [{"profile": profile, "rows": [asdict(row) for row in rows]} for profile, rows in looks]
        every = {"looks": body, "prices": price_list(study), **listing(study, places)}
        click.echo(json.dumps(every, indent=1))
        return
    console = Console()
    console.print(f"Plan of {study.name} until the verdict is decided, seed {study.seed}", highlight=False)
    console.print()
    print_rows([PlanRow.total(profile, rows) for profile, rows in looks], console, "look")
    print_listing(study, places, console)
    console.print("Each step adds to the one before; the run stops after the first that decides.")
    console.print("Tokens, dollars and time are estimates; nothing was spent.")
    click.echo(f"Run folder: {display_path(folder.path)}")


STYLES = {True: "green", False: "red", None: "yellow"}


def decide_rule(text: str, options: MeasureOptions) -> int:
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.decide import decide
    from steelyard.commands.decision import parse_rule

    if options.dry_run:
        print_rule_plan(text, options, options.cap, options.as_json)
        return 0
    rule = parse_rule(text, _form(options))
    study, folder = _study(rule, options, calls=True)
    print_destinations(options, study)
    with LiveProgress() as progress:
        made = decide(study, folder, rule, options.cap, run_limits(options), progress)
    if options.as_json:
        click.echo(json.dumps([decision.to_json() for decision in made.decisions], indent=1))
    else:
        _print(made, rule)
    return print_results(made.warnings, made.errors)


def _form(options: StudyOptions) -> str:
    """Whose stimuli are drawn: the catalogue's, or those of the data that the options or the study name."""
    from steelyard.commands.decision import BUILT_IN
    from steelyard.probes.probe import form_of
    from steelyard.study.study_file import load_config
    from steelyard.study.task_config import build_task

    consent = consent_of(options.yes)
    config = load_config(options.study, data_overrides(options), consent=consent)
    if config.data is None:
        return BUILT_IN
    return form_of(build_task(config.task, config.data, scores=False))


def _study(rule: DecisionRule, options: StudyOptions, *, calls: bool) -> tuple[Study, RunFolder]:
    from steelyard.commands.decide import PROFILE
    from steelyard.run_folder.run_folder import RunFolder

    if options.probes:
        raise ConfigError("--probe: the rule of --until names the probe; remove --probe.")
    if options.profile not in (None, PROFILE):
        raise ConfigError("--profile: a rule of --until samples from the whole catalogue; remove --profile.")
    study, _, _ = open_study(replace(options, probes=(rule.probe,), profile=PROFILE), calls=calls)
    study = replace(study, judges=tuple(judge for judge in study.judges if not judge.baseline))
    return study, options.folder or RunFolder.default(study)


def print_rule_plan(text: str, options: StudyOptions, cap: int | None, as_json: bool) -> None:
    from steelyard.cli.plan_table import print_plan
    from steelyard.commands.decide import sample_units
    from steelyard.commands.decision import parse_rule
    from steelyard.study.planner import make_plan

    rule = parse_rule(text, _form(options))
    study, folder = _study(rule, options, calls=False)
    with without_code():
        plan = make_plan(study)
    drawn = [
        trial for judge in study.judges for unit in sample_units(plan, judge, rule, cap) for trial in unit
    ]
    print_plan(plan.only(drawn), folder, as_json)
    if not as_json:
        click.echo("This is the maximum: the decision stops as soon as the answer is clear.")


def _print(made: Decisions, rule: DecisionRule) -> None:
    from rich.console import Console

    from steelyard.commands.decide import UNITS_PER_LOOK
    from steelyard.metrics.stats.intervals import ALPHA

    console = Console()
    console.print(plain(f"Is {rule} true?", "bold"))
    console.print(_table(made.decisions, rule))
    for decision in made.decisions:
        console.print(plain(_sentence(decision)), soft_wrap=True)
    confidence = f"{100 * (1 - ALPHA):g} %"
    console.print(
        f"\n{rule.noun.capitalize()}s are sampled at random and tested every {UNITS_PER_LOOK}; the "
        f"intervals hold at all tests together ({confidence}). "
        "They decide the rule and are no measurement: remove --until to measure.",
        highlight=False,
    )
    click.echo(f"{describe_calls(made.session)} Log: {display_path(made.folder.decisions)}")


def _table(decisions: tuple[StoppingDecision, ...], rule: DecisionRule) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("judge", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for name in ("mean", "interval", f"{rule.noun}s", "excluded", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    for decision in decisions:
        last = decision.last
        table.add_row(
            plain(decision.judge),
            plain(decision.verdict, STYLES[decision.holds]),
            f"{last.total / last.units:.3f}" if last.units else "undefined",
            f"{last.low:.3f} to {last.high:.3f}",
            f"{last.units:,}",
            f"{last.excluded:,}",
            f"{last.calls:,}",
        )
    return table


def _sentence(decision: StoppingDecision) -> str:
    rule, last, verdict = decision.rule, decision.last, decision.verdict
    if last.excluded and not last.units:
        drawn = pluralize(last.excluded, rule.noun)
        return f"{decision.judge}: {verdict}; of {drawn} drawn none has all its verdicts: nothing is known."
    if decision.holds is None:
        capped = f"the cap of {pluralize(decision.cap, rule.noun)} is reached"
        why = capped if verdict == "inconclusive" else "not all calls were made"
        return f"{decision.judge}: {verdict}; {why}, and {rule.share_limit:g} still lies in the interval."
    answer = "yes" if decision.holds else "no"
    worst = (
        "" if decision.is_robust else f" Counting the excluded {rule.noun}s against it would leave it open."
    )
    calls = pluralize(last.calls, "call")
    return f"{decision.judge}: {answer}, {rule.metric} is {verdict} {rule.limit:g} after {calls}.{worst}"
