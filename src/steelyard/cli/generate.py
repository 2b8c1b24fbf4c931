"""`steelyard generate`: LLM-authored stimuli only, for review before any judge is called."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Any

import click

from steelyard.cli.options import option, study_options, yes_option
from steelyard.cli.output import describe_calls, display_path, plain, warn
from steelyard.cli.study import open_study, print_destinations, run_limits, with_reference
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError


@click.command(short_help="Generate stimuli with a model; calls no judge.")
@study_options
@yes_option
@option("--accept-all", is_flag=True, help="Treat generated texts still pending review as accepted.")
def generate(accept_all: bool, **options: Any) -> None:
    """Generate the stimuli of a study with its author model and confirm them with its validator.

    No judge is called. Run the same command again to resume; `measure` with the same arguments judges the
    texts.
    """
    from rich.console import Console

    from steelyard.cli.progress import LiveProgress
    from steelyard.study.reference import with_placeholder_labels
    from steelyard.study.study_probes import open_briefs

    study, folder, generation = open_study(options, accept_all)
    if generation is None:
        raise ConfigError("generate: the study has no author; add author and validator to the study file.")
    if not open_briefs(with_placeholder_labels(study)):
        raise ConfigError(
            "generate: no probe of the study uses generated texts; add one, such as label_flip."
        )
    asked = tuple(judge for judge in study.judges if judge.name == study.reference)
    print_destinations(options, replace(study, judges=asked), generation)
    limits = run_limits(options)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        _, authored = generation.generate(study, folder, limits, progress)
    console = Console()
    for report in authored.report:
        console.print(plain(report.sentence()), soft_wrap=True)
    for shortfall in authored.shortfalls:
        warn(shortfall)
    if authored.pending:
        console.print(plain(_waiting(authored.pending, display_path(folder.path))), soft_wrap=True)
    session = authored.session
    asked_now = session.calls or session.failures
    calls = describe_calls(session) if asked_now else "No calls: every text already exists."
    click.echo(f"{calls} Stimuli: {display_path(folder.stimuli)}")


def _waiting(count: int, folder: str) -> str:
    verb = plural(count, "waits", "wait")
    return (
        f"{pluralize(count, 'text')} {verb} for review: `steelyard review {quote(folder)}` opens a page, "
        "or measure with --accept-all."
    )
