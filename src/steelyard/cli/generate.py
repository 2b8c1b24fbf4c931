"""`steelyard generate`: written stimuli only, for a look before any judge is paid."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import option, study_options
from steelyard.cli.say import calls_made, plain, shown, warn
from steelyard.cli.study import limits_of, open_study, with_reference
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError


@click.command(short_help="Have stimuli written, and judge nothing.")
@study_options
@option("--accept-all", is_flag=True, help="Accept texts that wait for review, unseen.")
def generate(accept_all: bool, **options: Any) -> None:
    """Have the author of a study write its stimuli and the validator confirm them; no judge is called.

    Running it again goes on where it stopped; `measure` with the same arguments judges what was written.
    """
    from rich.console import Console

    from steelyard.cli.progress import LiveProgress
    from steelyard.study.reference import with_placeholder_labels
    from steelyard.study.study_probes import open_briefs

    study, folder, generation = open_study(options, accept_all)
    if generation is None:
        raise ConfigError(
            "generate: the study names no author, so there is nothing to write; add author and validator to "
            "the study file."
        )
    if not open_briefs(with_placeholder_labels(study)):
        raise ConfigError(
            "generate: no probe of the study asks for written texts; add one, such as label_flip."
        )
    limits = limits_of(options)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        _, authored = generation.generate(study, folder, limits, progress)
    console = Console()
    for report in authored.report:
        console.print(plain(report.sentence()), soft_wrap=True)
    for shortfall in authored.shortfalls:
        warn(shortfall)
    if authored.pending:
        console.print(plain(_waiting(authored.pending, shown(folder.path))), soft_wrap=True)
    made = (
        calls_made(authored.session) if authored.session.calls else "No calls: every text was written before."
    )
    click.echo(f"{made} Stimuli: {shown(folder.stimuli)}")


def _waiting(count: int, folder: str) -> str:
    verb = plural(count, "waits", "wait")
    return (
        f"{pluralize(count, 'text')} {verb} for review: `steelyard review {folder}` opens a page, "
        "or measure with --accept-all."
    )
