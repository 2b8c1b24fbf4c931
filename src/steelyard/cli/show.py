"""`steelyard show`: the calls behind a figure, with texts, raw replies and how they were read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import COUNT, option
from steelyard.core.text import pluralize

if TYPE_CHECKING:
    from steelyard.commands.show import JudgeExamples, ShowRequest


@click.command(short_help="Show the calls behind a figure.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("-j", "--judge", metavar="NAME", help="Only this judge [all judges under test].")
@option("-p", "--probe", metavar="PROBE", help="Only calls of this probe.")
@option(
    "--outcome",
    type=click.Choice(["wrong", "flip", "positional", "unreadable", "failed"]),
    help="Only calls with this outcome.",
)
@option("-n", "--number", type=COUNT, default=3, metavar="N", help="Stimuli per judge.")
@option("--json", "as_json", is_flag=True, help="Print JSON with full texts and replies.")
def show(
    folder: Path, judge: str | None, probe: str | None, outcome: str | None, number: int, as_json: bool
) -> None:
    """Show calls of a run folder: request, texts, both orders, raw replies, and how each was parsed and
    scored. Most informative calls first; ties are broken by the study seed.

    Outcomes: wrong (differs from the reference), flip (the verdict changed on the same question, or after an
    edit that should not change it), positional (the same slot won in both orders), unreadable, failed.

    Example: steelyard show steelyard-runs/mine --outcome flip -n 5
    """
    import json

    from steelyard.commands.show import ShowRequest
    from steelyard.commands.show import show as choose
    from steelyard.core.json_dataclasses import to_body

    wanted = ShowRequest(judge, probe, outcome, number)
    chosen = choose(folder, wanted)
    if as_json:
        body = [
            {"judge": one.judge, "matching": one.matching, "exhibits": to_body(one.exhibits)}
            for one in chosen
        ]
        click.echo(json.dumps(body, indent=1))
    else:
        _print(chosen, wanted)


def _print(chosen: Sequence[JudgeExamples], wanted: ShowRequest) -> None:
    from shutil import get_terminal_size

    from steelyard.datasheet.render.examples import render
    from steelyard.datasheet.words.text import escape_control_chars

    width = min(get_terminal_size((80, 24)).columns, 100)
    for one in chosen:
        click.echo(escape_control_chars(_headline(one, wanted)))
        if one.exhibits:
            click.echo(f"\n{render(one.exhibits, width)}\n")


def _headline(one: JudgeExamples, wanted: ShowRequest) -> str:
    of = f" of probe {wanted.probe}" if wanted.probe else ""
    ending = f" with outcome {wanted.outcome}" if wanted.outcome else ""
    if not one.matching:
        return f"{one.judge}: no calls{of}{ending}."
    less = len(one.exhibits) < one.matching
    more = f", {len(one.exhibits)} shown; -n {one.matching} shows all" if less else ""
    return f"{one.judge}: {pluralize(one.matching, 'stimulus', 'stimuli')}{of}{ending}{more}."
