"""A leaderboard in words: its headline, its rows and what else a reader needs."""

from __future__ import annotations

from steelyard.commands.leaderboard import HALF, Leaderboard, RankedSystem
from steelyard.core.text import pluralize, round_up

NAMED = 5
"""Pairs of neighbours that are named."""
COLUMNS = ("system", "figure [95 %]", "ranks", "P(first)", "tier")


def number(value: float, board: Leaderboard) -> str:
    return f"{100 * value:.1f}" if board.pairwise else f"{value:.3f}"


def places(row: RankedSystem) -> str:
    """`2`, or `1–3` where the data allow several."""
    return f"{row.best}" if row.best == row.worst else f"{row.best}–{row.worst}"


def basis(board: Leaderboard) -> str:
    if board.labels == board.rows:
        return f"people's votes on all {pluralize(board.rows, 'row')}"
    if board.corrected is not None:
        return f"the judge corrected by people's votes on {board.labels:,} of {pluralize(board.rows, 'row')}"
    if board.people_alone is not None:
        return f"people alone, {pluralize(board.labels, 'row')}"
    return f"{board.judge} alone, {pluralize(board.rows, 'row')}: assumes that the judge is right"


def headline(board: Leaderboard) -> str:
    first = board.main.systems[0]
    rivals = [row.system for row in board.main.systems[1:] if row.best == 1]
    if not rivals:
        return f"{first.system} is first, by {basis(board)}."
    if first.value == board.main.systems[1].value:
        equal = sum(row.value == first.value for row in board.main.systems)
        return (
            f"No system leads: {equal} of {len(board.main.systems)} share the first place, by {basis(board)}."
        )
    others = ", ".join(rivals[:4]) + (f" and {len(rivals) - 4} more" if len(rivals) > 4 else "")
    return f"{first.system} leads, but {others} may be first too, by {basis(board)}."


def columns(board: Leaderboard) -> tuple[str, ...]:
    apart = () if board.baseline is None else ("to baseline [95 %]",)
    return (*COLUMNS, *apart, *(() if board.people_alone is None else ("judge", "people")))


def table_rows(board: Leaderboard) -> list[tuple[str, ...]]:
    """System, figure, ranks, P(first), tier; where people voted, also ranks by the judge and by people."""
    made: list[tuple[str, ...]] = []
    for row in board.main.systems:
        low, high = number(row.low, board), number(row.high, board)
        figure = f"{number(row.value, board)} [{low}, {high}]"
        others = [] if board.people_alone is None else [board.judge_alone, board.people_alone]
        ranks = [places(table.of(row.system)) for table in others]
        apart = [] if row.difference is None else [_signed(row, board)]
        made.append((row.system, figure, places(row), f"{row.first:.2f}", f"{row.tier}", *apart, *ranks))
    return made


def _signed(row: RankedSystem, board: Leaderboard) -> str:
    if row.system == board.baseline or row.difference is None:
        return "baseline"
    value, low, high = (("+" if each > 0 else "") + number(each, board) for each in row.difference)
    return f"{value} [{low}, {high}]"


def notes(board: Leaderboard) -> list[str]:
    made = []
    main = board.main
    if board.people_alone is not None:
        names = f": {', '.join(board.unsupported)}" if board.unsupported else ""
        made.append(
            f"Places of the judge that people's votes do not support: {len(board.unsupported)} of "
            f"{len(main.systems)}{names}."
        )
    else:
        first, second = main.systems[:2]
        gap = number(first.value - second.value, board)
        made.append(
            f"A judge that favours {first.system} over {second.system} by {gap} more than people do changes "
            "the first place."
        )
    close = [
        f"{one.system} and {other.system} {flip:.2f}"
        for one, other, flip in zip(main.systems, main.systems[1:], main.flips, strict=False)
        if flip >= 0.05
    ]
    if close:
        more = f"; and {len(close) - NAMED:,} more" if len(close) > NAMED else ""
        named = "; ".join(close[:NAMED])
        made.append(f"Neighbours that may be the other way round, with the chance: {named}{more}.")
    if main.separating_rows is not None:
        noun = "vote of people" if board.corrected or board.people_alone else "row"
        many = "votes of people" if board.corrected or board.people_alone else "rows"
        count = pluralize(round_up(main.separating_rows), noun, many)
        made.append(f"About {count} would tell the first two apart, if their figures stayed.")
    if board.slot_share is not None:
        made.append(
            f"Of decided comparisons the judge gave {100 * board.slot_share:.1f} % to the first slot; where "
            "slots were random, 50 % is unbiased."
        )
    if board.pairwise:
        ties = "half a win to each" if board.ties == HALF else "a loss of both"
        made.append(f"Figures are win rates in percent against the pool at hand; a tie is {ties}.")
    return [*made, *board.remarks]
