"""A leaderboard in words: its headline, its tables, its page and what else a reader needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.core.text import percent, pluralize, round_up
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow
from steelyard.datasheet.render.report import (
    JUDGE,
    PEOPLE,
    KeyEntry,
    Plot,
    Report,
    ReportTable,
    first_of,
    interval_meaning,
    judge_row,
    with_limits,
)
from steelyard.estimation.frame import Figure
from steelyard.importing.ratings import RatingsTable
from steelyard.survey.judged_items import Subject
from steelyard.survey.leaderboard import HALF, leaderboard
from steelyard.survey.options import LeaderboardOptions
from steelyard.survey.ranks import GIVEN, Leaderboard, RankedSystem

NAMED = 5
"""Pairs of neighbours, and systems in another order, that are named."""
OWN = "*"
"""Mark of a system of the judge's own model family."""
UNDEFINED = " [undefined]"
HALF_BAR = 0.22
"""Half the length of the bar of a single rank."""
STRENGTH = (
    "Bradley–Terry: how strong a system is, whoever it met; 1,000 on average, and 400 points more are odds "
    "of ten to one."
)


def leaderboard_report(table: RatingsTable, options: LeaderboardOptions) -> Report:
    board = leaderboard(table, Subject.of(options.ratings), options.ranks)
    main, judged = board.main, board.judge_alone
    count = len(main.systems)
    rows = []
    for each in main.systems:
        unit = " %" if board.pairwise and not board.by_strength else ""
        text = f"{number(each.value, board)}{unit}, P(first) {each.first:.2f}"
        ends = each.best - HALF_BAR, each.worst + HALF_BAR  # a single rank is a bar too
        rows.append(IntervalRow(each.system, None, None, PEOPLE, inner=ends, text=text))
        if main is not judged:
            rows.append(judge_row(each.system, float(judged.of(each.system).place)))
    key = [KeyEntry("▬", PEOPLE, f"ranks that the data allow, by {basis(board)}")]
    if main is not judged:
        key.append(KeyEntry("◇", JUDGE, f"place by {board.judge} alone"))
    strength = [("strength", STRENGTH)] if board.by_strength or board.strengths is not None else []
    return Report(
        kind="leaderboard",
        title=Path(board.source).name,
        lead=headline(board),
        facts=[
            ("judge", board.judge),
            ("rows", f"{board.rows:,}"),
            ("rated by people", f"{board.labels:,}"),
            ("systems", f"{count:,}"),
        ],
        plot=Plot(
            "Ranks that the data allow",
            "A bar covers the ranks that a system may have; all bars hold together in "
            f"{percent(board.confidence)} of samples. A diamond outside its bar is a place of the judge that "
            "people's votes do not support.",
            rows,
            "rank; 1 is the best",
            (0.5, count + 0.5),
            key=key,
            label="Rank sets of the systems",
            ticks=[float(rank) for rank in range(1, count + 1)],
        ),
        tables=_tables(board),
        notes=notes(board),
        meanings=(
            ("ranks", "From 1 + the number shown to be better to the last place less those shown worse."),
            ("P(first)", "Chance that the system is the best, from the errors of all figures together."),
            ("tier", "A new tier begins with a system that is shown to be worse than the tier's first."),
            *strength,
            interval_meaning(board.confidence),
        ),
        body=board.to_json(),
    )


def _tables(board: Leaderboard) -> list[ReportTable]:
    level = percent(board.confidence)
    both = () if board.people_alone is None else ("judge", "people")
    figure = "strength" if board.by_strength else "win rate %" if board.pairwise else "mean score"
    titles = ("system", f"{figure} [{level}]", "ranks", "P(first)", "tier", *both)
    made = [ReportTable("Systems", titles, table_rows(board), wrap="system")]
    if board.baseline is not None:
        titles = "system", f"to {board.baseline} [{level}]"
        cells = [
            (row.system, with_limits(Figure(*row.difference, 0.0, ""), _signed(board), UNDEFINED))
            for row in board.main.systems
            if row.difference is not None and row.system != board.baseline
        ]
        title = f"Paired differences from {board.baseline}"
        made.append(ReportTable(title, titles, cells, wrap="system"))
    if board.strengths is not None:
        titles = "system", f"strength [{level}]", "ranks", "P(first)"
        rows = [
            (row.system, with_limits(row, "{:,.0f}".format, UNDEFINED), places(row), f"{row.first:.2f}")
            for row in board.strengths.systems
        ]
        made.append(ReportTable("Bradley–Terry strengths", titles, rows, on_page_only=True))
    return made


def number(value: float, board: Leaderboard) -> str:
    """A strength in points, a win rate in percent, a score as it is."""
    if board.by_strength:
        return f"{value:,.0f}"
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
    return f"{first.system} leads, but {first_of(rivals, 4)} may be first too, by {basis(board)}."


def _figure(row: RankedSystem, board: Leaderboard) -> str:
    return with_limits(row, lambda value: number(value, board), UNDEFINED)


def table_rows(board: Leaderboard) -> list[tuple[str, ...]]:
    """System, figure, ranks, P(first), tier; where people voted, also ranks by the judge and by people."""
    made: list[tuple[str, ...]] = []
    for row in board.main.systems:
        others = [] if board.people_alone is None else [board.judge_alone, board.people_alone]
        ranks = [places(table.of(row.system)) for table in others]
        name = f"{row.system} {OWN}" if row.system in board.own_family else row.system
        made.append((name, _figure(row, board), places(row), f"{row.first:.2f}", f"{row.tier}", *ranks))
    return made


def _signed(board: Leaderboard) -> Callable[[float], str]:
    return lambda value: ("+" if value > 0 else "") + number(value, board)


def _separation(board: Leaderboard) -> str:
    """How many more votes or rows would tell two systems apart: those that were named, or the first two."""
    found, people = board.main.separation, board.voted
    pair, start = "the first two", ""
    if board.separate:
        pair = "them"
        gap = Figure(found.gap, found.gap - found.reach, found.gap + found.reach, 0.0, "")
        start = f"{found.better} less {found.worse}: {with_limits(gap, _signed(board))}. "
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
    table = board.voted
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
        unit = "" if board.by_strength or not board.pairwise else " points"
        gap = f"{number(first.value - second.value, board)}{unit}"
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
        named = first_of([f"{name} {weight:.2f}" for name, weight in weights.items()], NAMED)
        said = f"{values[0]:.2f} for all systems" if max(values) == min(values) else named
        made.append(f"Weight of the judge in the corrected figures (λ): {said}.")
    if board.slot_share is not None:
        made.append(
            f"Of decided comparisons the judge gave {100 * board.slot_share:.1f} % to the first slot; where "
            "slots were random, 50 % is unbiased."
        )
    if board.strengths is not None:
        orders = [[row.system for row in table.systems] for table in (main, board.strengths)]
        order = "the same" if orders[0] == orders[1] else first_of(orders[1], NAMED, " and so on")
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
    if assumed := "; ".join(filter(None, (board.independence, board.scale_assumed))):
        made.append(f"Assumed: {assumed}.")
    return [*made, *board.remarks]
