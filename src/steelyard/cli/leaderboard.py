"""`steelyard leaderboard`: which places survive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.estimate import load, rating_options
from steelyard.cli.options import option
from steelyard.cli.output import display_path, plain
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.leaderboard import Leaderboard

COLUMNS = ("system", "figure [95 %]", "ranks", "P(first)", "tier", "by judge", "by people")


@click.command(short_help="Rank systems, with intervals that include the judge's error.")
@rating_options
@option(
    "--design",
    type=click.Choice(["random"]),
    help="How the rows that people rated were drawn; needed to correct the judge.",
)
@option("--system", "systems", multiple=True, metavar="NAME", help="System to rank; repeatable [all].")
@option(
    "--ties",
    type=click.Choice(["half", "loss"]),
    default="half",
    help="A tie is half a win to each, or a loss of both.",
)
@option("--seed", type=int, default=7, metavar="N", help="Seed of the simulated ranks.")
@option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the leaderboard as JSON here.",
)
@option("--json", "as_json", is_flag=True, help="Print the leaderboard as JSON.")
def leaderboard(
    design: str | None,
    systems: tuple[str, ...],
    ties: str,
    seed: int,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank systems by a judge, corrected by people's votes on some rows, and say which ranks the data allow.

    FILE is a table of ratings: comparisons with system_a and system_b, or scores with system. Ranks hold for
    all systems at once, in 95 of 100 samples. Without people's votes they assume that the judge is right.
    """
    use_one_blas_thread()
    import json

    from steelyard.commands.judged_items import Subject
    from steelyard.commands.leaderboard import leaderboard as compute
    from steelyard.core.atomic_write import atomic_write_text

    subject = Subject(options["judge"], options["people"], options["criterion"])
    table = load(options)
    board = compute(table, subject, random_draw=design is not None, ties=ties, systems=systems, seed=seed)
    text = json.dumps(board.to_json(), indent=1) + "\n"
    if out is not None:
        atomic_write_text(out, text)
    if as_json:
        click.echo(text, nl=False)
        return
    _print(board)
    if out is not None:
        click.echo(f"Written: {display_path(out)}")


def _print(board: Leaderboard) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.commands.leaderboard_text import headline, notes, table_rows

    console = Console()
    console.print(plain(headline(board)))
    table = Table(box=box.SIMPLE_HEAD)
    for title in COLUMNS:
        table.add_column(title, overflow="fold", no_wrap=title != "system")
    for row in table_rows(board):
        table.add_row(*map(plain, row))
    console.print(table)
    for line in notes(board):
        console.print(plain(line))
