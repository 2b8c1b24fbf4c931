"""`steelyard measure --decide`: one rule, one line per judge."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.plan import print_plan
from steelyard.cli.say import calls_made, plain, shown, tell
from steelyard.cli.study import limits_of, open_study
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.sequential.decide import Decisions
    from steelyard.sequential.decision import Decision, DecisionRule
    from steelyard.study.study import Study

STYLES = {True: "green", False: "red", None: "yellow"}
"""Colour of a verdict, by whether the rule holds."""


def decide_rule(text: str, cap: int | None, options: dict[str, Any], dry_run: bool, as_json: bool) -> int:
    """Decide, print, and return the exit code."""
    from steelyard.cli.progress import LiveProgress
    from steelyard.sequential.decide import decide
    from steelyard.sequential.decision import parse_rule

    rule = parse_rule(text, _form(options))
    study, folder = _study(rule, options)
    if dry_run:
        _print_plan(study, folder, rule, cap, as_json)
        return 0
    with LiveProgress() as progress:
        made = decide(study, folder, rule, cap, limits_of(options), progress)
    if as_json:
        click.echo(json.dumps([decision.to_json() for decision in made.decisions], indent=1))
    else:
        _print(made, rule)
    return tell(made.warnings, made.errors)


def _form(options: dict[str, Any]) -> str:
    """Whose stimuli are drawn: the catalogue's, or those of the data that the options or the study name."""
    from steelyard.cli.data_options import data_overrides
    from steelyard.probes.probe import form_of
    from steelyard.sequential.decision import BUILT_IN
    from steelyard.study.study_file import load_config
    from steelyard.study.task_config import question

    config = load_config(options["study"], data_overrides(options))
    if config.data is None:
        return BUILT_IN
    return form_of(question(config.task, config.data, scores=False))


def _study(rule: DecisionRule, options: dict[str, Any]) -> tuple[Study, RunFolder]:
    """The named judges alone, on the whole catalogue."""
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.sequential.decide import PROFILE

    if options["probes"]:
        raise ConfigError("--probe: the rule of --decide names what is shown; leave --probe out.")
    if options["profile"] not in (None, PROFILE):
        raise ConfigError("--profile: --decide draws from the whole catalogue; leave --profile out.")
    study, _, _ = open_study({**options, "probes": [rule.probe], "profile": PROFILE})
    study = replace(study, judges=tuple(judge for judge in study.judges if not judge.baseline))
    return study, RunFolder(options["out"]) if options["out"] else RunFolder.default(study)


def _print_plan(study: Study, folder: RunFolder, rule: DecisionRule, cap: int | None, as_json: bool) -> None:
    from steelyard.runner.planner import make_plan
    from steelyard.sequential.decide import sample_units

    plan = make_plan(study)
    drawn = [
        trial for judge in study.judges for unit in sample_units(plan, judge, rule, cap) for trial in unit
    ]
    print_plan(plan.only(drawn), folder, as_json)
    if not as_json:
        click.echo("This is the most that the decision can take: it stops as soon as the answer is clear.")


def _print(made: Decisions, rule: DecisionRule) -> None:
    from rich.console import Console

    from steelyard.metrics.stats.confidence_sequence import ALPHA
    from steelyard.sequential.decide import UNITS_PER_LOOK

    console = Console()
    console.print(plain(f"Is {rule} true?", "bold"))
    console.print(_table(made.decisions, rule))
    for decision in made.decisions:
        console.print(plain(_sentence(decision)), soft_wrap=True)
    confidence = f"{100 * (1 - ALPHA):g} %"
    console.print(
        f"\n{rule.noun.capitalize()}s are drawn at random and looked at every {UNITS_PER_LOOK}; the "
        f"intervals hold at all looks together ({confidence}). "
        "They decide and do not measure: leave --decide out to measure.",
        highlight=False,
    )
    click.echo(f"{calls_made(made.session)} Log: {shown(made.folder.decisions)}")


def _table(decisions: tuple[Decision, ...], rule: DecisionRule) -> Table:
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


def _sentence(decision: Decision) -> str:
    """The verdict in words."""
    rule, last, verdict = decision.rule, decision.last, decision.verdict
    if last.excluded and not last.units:
        drawn = pluralize(last.excluded, rule.noun)
        return f"{decision.judge}: {verdict}; of {drawn} drawn none has all its verdicts: nothing is known."
    if decision.holds is None:
        capped = f"the cap of {pluralize(decision.cap, rule.noun)} is reached"
        why = capped if verdict == "inconclusive" else "not all calls were made"
        return f"{decision.judge}: {verdict}; {why}, and {rule.limit:g} still lies in the interval."
    answer = "yes" if decision.holds else "no"
    worst = (
        "" if decision.is_robust else f" Counting the excluded {rule.noun}s against it would leave it open."
    )
    calls = pluralize(last.calls, "call")
    return f"{decision.judge}: {answer}, {rule.metric} is {verdict} {rule.limit:g} after {calls}.{worst}"
