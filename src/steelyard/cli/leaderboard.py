"""`steelyard leaderboard`: which places survive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.estimate import label_options, load, rating_options
from steelyard.cli.options import confidence_option, option
from steelyard.cli.output import finish_report, print_lines, print_table, report_options
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.leaderboard_report import Leaderboard


@click.command(short_help="Rank systems, with intervals that include the judge's error.")
@rating_options
@label_options
@option(
    "--design",
    type=click.Choice(["random"]),
    help="How the rows that people rated were drawn; needed to correct the judge [from p_drawn].",
)
@option("--system", "systems", multiple=True, metavar="NAME", help="System to rank; repeatable [all].")
@option("--baseline", metavar="NAME", help="System to show paired differences from.")
@option("--separate", nargs=2, metavar="A B", help="Say how many more votes would tell two systems apart.")
@option(
    "--own-family",
    multiple=True,
    metavar="NAME",
    help="System of the judge's own model family; repeatable [by known names].",
)
@option(
    "--ties",
    type=click.Choice(["half", "loss"]),
    default="half",
    help="A tie is half a win to each, or a loss of both.",
)
@option(
    "--rank-by",
    type=click.Choice(["win-rate", "strength"]),
    default="win-rate",
    help="Figure of comparisons: the win rate, or the Bradley–Terry strength.",
)
@confidence_option
@option("--seed", type=int, default=7, metavar="N", help="Seed of the simulated ranks.")
@report_options
def leaderboard(
    labels: Path | None,
    design: str | None,
    systems: tuple[str, ...],
    baseline: str | None,
    separate: tuple[str, str] | None,
    own_family: tuple[str, ...],
    ties: str,
    rank_by: str,
    confidence: float,
    seed: int,
    out: Path | None,
    page: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank systems by a judge, corrected by people's votes on some rows, and say which ranks the data allow.

    FILE is a table of ratings: comparisons with system_a and system_b, or scores with system. Ranks hold for
    all systems at once. Without people's votes they assume that the judge is right.
    """
    use_one_blas_thread()
    import json

    from steelyard.commands.judged_items import Subject
    from steelyard.commands.leaderboard import leaderboard as compute
    from steelyard.commands.score_pages import leaderboard_page
    from steelyard.datasheet.render.html.score_page import render

    subject = Subject(options["judge"], options["people"], options["criterion"])
    table = load(options, labels)
    board = compute(
        table,
        subject,
        random_draw=design is not None,
        ties=ties,
        by_strength=rank_by == "strength",
        systems=systems,
        baseline=baseline,
        separate=separate,
        own_family=own_family,
        confidence=confidence,
        seed=seed,
    )
    finish_report(
        json.dumps(board.to_json(), indent=1) + "\n",
        lambda: _print(board),
        lambda: render(leaderboard_page(board)),
        out=out,
        page=page,
        as_json=as_json,
    )


def _print(board: Leaderboard) -> None:
    from steelyard.commands.leaderboard_text import (
        columns,
        difference_columns,
        difference_rows,
        headline,
        notes,
        table_rows,
    )

    print_lines([headline(board)])
    print_table(columns(board), table_rows(board), wrap="system")
    if board.baseline is not None:
        print_table(difference_columns(board), difference_rows(board), wrap="system")
    print_lines(notes(board))
