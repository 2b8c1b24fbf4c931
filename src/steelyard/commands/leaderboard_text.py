"""A leaderboard in words: its headline, its rows and what else a reader needs."""

from __future__ import annotations

from steelyard.commands.leaderboard_report import GIVEN, Leaderboard, RankedSystem
from steelyard.commands.leaderboard_votes import HALF
from steelyard.core.text import percent, pluralize, round_up

NAMED = 5
"""Pairs of neighbours, and systems in another order, that are named."""
OWN = "*"
"""Mark of a system of the judge's own model family."""


def number(value: float, board: Leaderboard) -> str:
    """A strength in points, a win rate in percent, a score as it is."""
    if board.by_strength:
        return f"{value:,.0f}"
    return f"{100 * value:.1f}" if board.pairwise else f"{value:.3f}"


def with_limits(value: str, low: str | None, high: str | None) -> str:
    return f"{value} [undefined]" if low is None or high is None else f"{value} [{low}, {high}]"


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
    both = () if board.people_alone is None else ("judge", "people")
    figure = "strength" if board.by_strength else "figure"
    return ("system", f"{figure} [{percent(board.confidence)}]", "ranks", "P(first)", "tier", *both)


def _figure(row: RankedSystem, board: Leaderboard) -> str:
    ends = (None if end is None else number(end, board) for end in (row.low, row.high))
    return with_limits(number(row.value, board), *ends)


def table_rows(board: Leaderboard) -> list[tuple[str, ...]]:
    """System, figure, ranks, P(first), tier; where people voted, also ranks by the judge and by people."""
    made: list[tuple[str, ...]] = []
    for row in board.main.systems:
        others = [] if board.people_alone is None else [board.judge_alone, board.people_alone]
        ranks = [places(table.of(row.system)) for table in others]
        name = f"{row.system} {OWN}" if row.system in board.own_family else row.system
        made.append((name, _figure(row, board), places(row), f"{row.first:.2f}", f"{row.tier}", *ranks))
    return made


def difference_columns(board: Leaderboard) -> tuple[str, ...]:
    return "system", f"to {board.baseline} [{percent(board.confidence)}]"


def difference_rows(board: Leaderboard) -> list[tuple[str, ...]]:
    """Every other system and its paired difference from the baseline."""
    made: list[tuple[str, ...]] = []
    for row in board.main.systems:
        if row.difference is not None and row.system != board.baseline:
            value, low, high = (None if each is None else _signed(each, board) for each in row.difference)
            made.append((row.system, with_limits(value or "", low, high)))
    return made


def _signed(value: float, board: Leaderboard) -> str:
    return ("+" if value > 0 else "") + number(value, board)


def strength_columns(board: Leaderboard) -> tuple[str, ...]:
    return "system", f"strength [{percent(board.confidence)}]", "ranks", "P(first)"


def strength_rows(board: Leaderboard) -> list[tuple[str, ...]]:
    """System, Bradley–Terry strength with its interval, ranks and P(first)."""
    made: list[tuple[str, ...]] = []
    for row in board.strengths.systems if board.strengths else ():
        ends = (None if end is None else f"{end:,.0f}" for end in (row.low, row.high))
        made.append((row.system, with_limits(f"{row.value:,.0f}", *ends), places(row), f"{row.first:.2f}"))
    return made


def _separation(board: Leaderboard) -> str:
    """How many more votes or rows would tell two systems apart: those that were named, or the first two."""
    found, people = board.main.separation, board.corrected or board.people_alone
    pair, start = "the first two", ""
    if board.separate:
        pair = "them"
        ends = (_signed(found.gap + side * found.reach, board) for side in (-1, 1))
        start = f"{found.better} less {found.worse}: {with_limits(_signed(found.gap, board), *ends)}. "
    if found.is_apart:
        return f"{start}They are told apart." if board.separate else ""
    if found.rows is None:
        return f"{start}No sample would tell {pair} apart, if their figures stayed: these are equal."
    made = board.labels if people else board.rows
    few = f"would tell {pair} apart, if their figures stayed."
    if found.votes is not None:
        return f"{start}About {pluralize(round_up(found.votes - made), 'more vote')} of people {few}"
    more = pluralize(round_up(found.rows - (board.rows if board.corrected else made)), "more row")
    if people:
        more += " with votes of people"
    if board.corrected and board.labels < board.rows:
        rest = pluralize(board.rows - board.labels, "row")
        return f"{start}Votes on the other {rest} would not tell {pair} apart; these and about {more} {few}"
    return f"{start}About {more} {few}"


def _own_family(board: Leaderboard) -> str:
    """What the judge gives systems of its own family, beside what people's votes give them."""
    source = "as given" if board.family_source == GIVEN else "by its name"
    said = f"{OWN} Of the judge's own model family, {source}"
    table = board.corrected or board.people_alone
    if table is None:
        return f"{said}; whether the judge favours it cannot be said without votes of people."
    both = [
        f"{name} {_figure(board.judge_alone.of(name), board)} and {_figure(table.of(name), board)}"
        for name in board.own_family
    ]
    return f"{said}; by the judge alone and with people's votes: {'; '.join(both)}."


def notes(board: Leaderboard) -> list[str]:
    made = []
    main = board.main
    if board.people_alone is not None:
        names = f": {', '.join(board.unsupported)}" if board.unsupported else ""
        made.append(
            f"Places of the judge that people's votes do not support: {len(board.unsupported)} of "
            f"{len(main.systems)}{names}."
        )
    elif main.systems[0].value > main.systems[1].value:
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
    made += filter(None, [_separation(board)])
    if board.own_family:
        made.append(_own_family(board))
    weights = {row.system: row.weight for row in main.systems if row.weight is not None}
    if weights:
        values = list(weights.values())
        named = ", ".join(f"{name} {weight:.2f}" for name, weight in list(weights.items())[:NAMED])
        more = f" and {len(weights) - NAMED:,} more" if len(weights) > NAMED else ""
        all_alike = max(values) == min(values)
        said = f"{values[0]:.2f} for all systems" if all_alike else f"{named}{more}"
        made.append(f"Weight of the judge in the corrected figures (λ): {said}.")
    if board.slot_share is not None:
        made.append(
            f"Of decided comparisons the judge gave {100 * board.slot_share:.1f} % to the first slot; where "
            "slots were random, 50 % is unbiased."
        )
    if board.strengths is not None:
        orders = [[row.system for row in table.systems] for table in (main, board.strengths)]
        named = ", ".join(orders[1][:NAMED]) + (" and so on" if len(orders[1]) > NAMED else "")
        order = "the same" if orders[0] == orders[1] else named
        half = "" if board.ties == HALF else " and counts a tie as half a win"
        made.append(f"By Bradley–Terry strength, which allows for who met whom{half}, the order is {order}.")
    if board.by_strength:
        made.append(
            "Figures are Bradley–Terry strengths: 1,000 points on average, 400 more are odds of ten to one; "
            "a tie is half a win to each."
        )
    elif board.pairwise:
        ties = "half a win to each" if board.ties == HALF else "a loss of both"
        made.append(f"Figures are win rates in percent against the pool at hand; a tie is {ties}.")
    if board.people_alone is not None:
        made.append("Several votes on a row are averaged; how other people would vote is in no interval.")
    if board.independence:
        made.append(f"Assumed: {board.independence}.")
    return [*made, *board.remarks]
