"""Pages of `estimate`, `leaderboard`, `people` and `bridge`: what each report shows, and its one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.commands import estimate_text, leaderboard_text
from steelyard.commands.bridge import BridgeReport
from steelyard.commands.bridge_text import (
    bridge_notes,
    bridge_sentence,
    channel_columns,
    channel_rows,
    history_columns,
    translation_rows,
)
from steelyard.commands.estimate import EstimateReport
from steelyard.commands.leaderboard_report import Leaderboard
from steelyard.commands.people import PeopleReport
from steelyard.commands.people_text import (
    ANSWER_COLUMNS,
    JUDGE_COLUMNS,
    PERSON_COLUMNS,
    answer_rows,
    judge_rows,
    people_notes,
    people_sentence,
    person_rows,
    verdict,
)
from steelyard.core.text import percent
from steelyard.datasheet.render.html.drawing.axis import round_values
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.datasheet.render.html.score_page import KeyEntry, PageTable, ScorePage
from steelyard.estimation.frame import CONFIDENCE, Figure

WIDTH, NAME, ROW = 420, 170, 34
NARROW_WIDTH, NARROW_NAME = 180, 135
"""On a phone, where both must fit."""
HALF_BAR = 0.22
"""Half the length of the bar of a single rank."""
STRENGTH = (
    "Bradley–Terry: how strong a system is, whoever it met; 1,000 on average, and 400 points more are odds "
    "of ten to one."
)
PEOPLE, JUDGE, LABELS = "series-1", "series-2", "muted"


def _interval(confidence: float) -> tuple[str, str]:
    level = percent(confidence)
    return f"{level} interval", f"In {level} of samples drawn like this one it holds the true value."


def _domain(values: Sequence[float | None], ends: tuple[float, float] | None = None) -> tuple[float, float]:
    """From the lowest to the highest value with some room, within the ends of the scale."""
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    room = 0.15 * (high - low) or 0.05
    low, high = low - room, high + room
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))


def _plots(
    rows: Sequence[IntervalRow],
    title: str,
    axis: str,
    domain: tuple[float, float],
    *,
    ticks: Sequence[float] | None = None,
    signed: bool = False,
    zero: bool = False,
    reference: float | None = None,
    margin: float | None = None,
) -> dict[str, str]:
    """The drawing for a screen and the one for a phone."""
    bare = [replace(row, text="") for row in rows]
    sizes = {"drawing": (rows, WIDTH, NAME), "narrow_drawing": (bare, NARROW_WIDTH, NARROW_NAME)}
    return {
        name: forest_plot(
            lines,
            title=title,
            axis_title=axis,
            domain=domain,
            ticks=round_values(*domain, 6 if lines is rows else 4) if ticks is None else ticks,
            signed=signed,
            zero_line=zero,
            reference=reference,
            margin=margin,
            width=width,
            row_height=ROW,
            limit=limit,
        )
        for name, (lines, width, limit) in sizes.items()
    }


def _row(
    name: str, figure: Figure, role: str, text: str, *, shape: str = "circle", scale: float = 1.0
) -> IntervalRow:
    ends = None if figure.low is None or figure.high is None else (scale * figure.low, scale * figure.high)
    return IntervalRow(
        name, scale * figure.value, ends, role, shape=shape, hollow=shape == "diamond", text=text
    )


def estimate_page(report: EstimateReport) -> ScorePage:
    share = report.quantity in ("share", "wins")
    scale = 100.0 if share else 1.0
    named = [("what people would say", report.corrected, PEOPLE, "circle")]
    if report.labels_only is not None:
        named.append(("labels alone", report.labels_only, LABELS, "circle"))
    named.append(("judge alone", report.judge_only, JUDGE, "diamond"))
    rows = [
        _row(name, figure, role, estimate_text.spelled(figure, report), shape=shape, scale=scale)
        for name, figure, role, shape in named
    ]
    for stratum in report.strata:
        if stratum.corrected is not None:
            text = estimate_text.spelled(stratum.corrected, report)
            rows.append(_row(stratum.name, stratum.corrected, PEOPLE, text, scale=scale))
            rows.append(IntervalRow(stratum.name, scale * stratum.judge, None, JUDGE, "diamond", hollow=True))
    values = [end for row in rows for end in (row.value, *(row.interval or ()))]
    axis = {"share": "passed, %", "wins": "wins, %", "difference": "difference"}.get(
        report.quantity, "mean score"
    )
    tables = [PageTable("Figures", estimate_text.figure_columns(report), estimate_text.figure_rows(report))]
    if report.strata:
        columns = estimate_text.stratum_columns(report)
        tables.append(PageTable("Strata", columns, estimate_text.stratum_rows(report)))
    facts = [
        ("judge", report.judge),
        ("people", ", ".join(report.people[:6]) + (" …" if len(report.people) > 6 else "")),
        ("items", f"{report.items:,}"),
        ("labels", f"{report.labels:,}, {estimate_text.DRAWN[report.design]}"),
    ]
    return ScorePage(
        kind="estimate",
        title=report.system or Path(report.name).name,
        lead=estimate_text.sentence(report),
        facts=facts,
        figure_title="The judge's figure and the one people would give",
        caption=f"Bars are {percent(report.confidence)} intervals. The judge's own figure counts its "
        "verdicts; where it lies outside the bar, people would say something else.",
        **_plots(
            rows,
            "Corrected, labels alone, judge alone",
            axis,
            _domain(values, (0.0, 100.0) if share else None),
            signed=report.quantity == "difference",
        ),
        key=(
            KeyEntry("●", PEOPLE, "judge corrected by people's labels"),
            KeyEntry("◇", JUDGE, "judge alone"),
        ),
        tables=tables,
        notes=estimate_text.notes(report),
        meanings=(
            ("corrected", "What people would say of all items; the figure to publish."),
            ("judge alone", "The mean of the verdicts; of these items a count, so it has no interval."),
            ("labels alone", "What the labels say without the judge; undefined where the draw followed it."),
            _interval(report.confidence),
            ("for a methods section", estimate_text.methods(report)),
        ),
    )


def leaderboard_page(board: Leaderboard) -> ScorePage:
    main, judged = board.main, board.judge_alone
    count = len(main.systems)
    rows = []
    for each in main.systems:
        text = f"{leaderboard_text.number(each.value, board)}, P(first) {each.first:.2f}"
        ends = each.best - HALF_BAR, each.worst + HALF_BAR  # a single rank is a bar too
        rows.append(IntervalRow(each.system, None, None, PEOPLE, inner=ends, text=text))
        if main is not judged:
            place = float(judged.of(each.system).place)
            rows.append(IntervalRow(each.system, place, None, JUDGE, "diamond", hollow=True))
    strength = [("strength", STRENGTH)] if board.by_strength or board.strengths is not None else []
    key = [KeyEntry("▬", PEOPLE, f"ranks that the data allow, by {leaderboard_text.basis(board)}")]
    if main is not judged:
        key.append(KeyEntry("◇", JUDGE, f"place by {board.judge} alone"))
    facts = [
        ("judge", board.judge),
        ("rows", f"{board.rows:,}"),
        ("rated by people", f"{board.labels:,}"),
        ("systems", f"{count:,}"),
    ]
    tables = [PageTable("Systems", leaderboard_text.columns(board), leaderboard_text.table_rows(board))]
    if board.baseline is not None:
        titles, apart = leaderboard_text.difference_columns(board), leaderboard_text.difference_rows(board)
        tables.append(PageTable(f"Paired differences from {board.baseline}", titles, apart))
    if board.strengths is not None:
        titles = leaderboard_text.strength_columns(board)
        rows_of = leaderboard_text.strength_rows(board)
        tables.append(PageTable("Bradley–Terry strengths", titles, rows_of))
    return ScorePage(
        kind="leaderboard",
        title=Path(board.name).name,
        lead=leaderboard_text.headline(board),
        facts=facts,
        figure_title="Ranks that the data allow",
        caption="A bar covers the ranks that a system may have; all bars hold together in "
        f"{percent(board.confidence)} of samples. A diamond outside its bar is a place of the judge that "
        "people's votes do not support.",
        **_plots(
            rows,
            "Rank sets of the systems",
            "rank; 1 is the best",
            (0.5, count + 0.5),
            ticks=[float(rank) for rank in range(1, count + 1)],
        ),
        key=key,
        tables=tables,
        notes=leaderboard_text.notes(board),
        meanings=(
            (
                "ranks",
                "From 1 + the number shown to be better to the last place less those shown worse.",
            ),
            ("P(first)", "Chance that the system is the best, from the errors of all figures together."),
            ("tier", "A new tier begins with a system that is shown to be worse than the tier's first."),
            *strength,
            _interval(board.confidence),
        ),
    )


def people_page(report: PeopleReport) -> ScorePage:
    judges = [each for each in report.judges if each.gap is not None]
    rows = []
    for each in judges:
        if each.gap is not None:
            rows.append(_row(each.judge, each.gap, JUDGE, verdict(each, report.epsilon)))
    if not rows:
        for person in report.people:
            if person.severity is not None:
                far = person.severity
                rows.append(_row(person.name, far, PEOPLE, f"{far.value:+.3f}"))
    values = [0.0, *(end for row in rows for end in (row.value, *(row.interval or ())))]
    if judges:
        values += [-report.epsilon, report.epsilon]
        title, axis = "How close judges are to people, compared with a person", "judge less person"
        caption = (
            "Share of items on which the judge is closer to the other people, less that of the person it is "
            "compared with. 0 is as good as a person: the ceiling. The band is ±ε, the price put on a "
            "person's time."
        )
    else:
        title, axis = "How severe each person is", "rating less that of the others"
        caption = "Mean difference from the other people on the same items, with 95 % intervals."
    tables = [PageTable("People", PERSON_COLUMNS, person_rows(report))]
    if report.judges:
        tables = [
            PageTable("Judges", JUDGE_COLUMNS, judge_rows(report)),
            PageTable("Answers of the judges", ANSWER_COLUMNS, answer_rows(report)),
            *tables,
        ]
    return ScorePage(
        kind="people",
        title=Path(report.name).name,
        lead=people_sentence(report),
        facts=[
            ("people", f"{len(report.people):,}"),
            ("items", f"{report.items:,}"),
            ("with several people", f"{report.shared:,}"),
            ("level", report.level),
        ],
        figure_title=title,
        caption=caption,
        **_plots(
            rows,
            title,
            axis,
            _domain(values),
            signed=True,
            zero=True,
            margin=report.epsilon if judges else None,
        ),
        key=(),
        tables=tables,
        notes=people_notes(report),
        meanings=(
            ("α", "Krippendorff's agreement beyond chance: 1 is perfect, 0 is chance; jackknife over items."),
            (
                "agrees with people",
                "Share of people who say the same, on items that several rated.",
            ),
            ("as any person", "Items on which the judge says what at least one person says."),
            (
                "squared error to the mean",
                "Mean squared distance of the judge from the mean of people's votes.",
            ),
            ("severity", "How far a person rates above the others on the same items."),
            ("ω", "Share of people whom the judge may replace, by the alternative annotator test."),
            ("ρ", "How often the judge is at least as close to the others as the person."),
            (
                "at the ceiling",
                "As close to the other people as a person is: the interval of the gap lies above −ε and not "
                "wholly below 0, and ω is at least one half. Where the interval lies between −ε and 0, the "
                "judge is below people, by less than ε.",
            ),
            _interval(CONFIDENCE),
        ),
    )


def bridge_page(report: BridgeReport) -> ScorePage:
    rows = []
    if report.translations:
        for each in report.translations:
            name = f"{each.row.period} {each.row.stratum}".strip()
            figure = each.figure
            text = f"{each.row.value:.3f} → {figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
            rows.append(_row(name, figure, PEOPLE, text))
            rows.append(IntervalRow(name, each.row.value, None, JUDGE, "diamond", hollow=True))
        title = "The history as the new judge would give it"
        level = percent(report.confidence)
        caption = f"A diamond is the old judge's figure, a dot with its {level} interval the translated one."
        key = [KeyEntry("◇", JUDGE, f"{report.old}, as reported"), KeyEntry("●", PEOPLE, f"as {report.new}")]
    else:
        shift = report.shift
        text = f"{shift.value:+.3f} [{shift.low:+.3f}, {shift.high:+.3f}]"
        rows = [_row("new less old", shift, PEOPLE, text)]
        title = "How far the new judge is from the old one"
        caption = f"Mean difference on the anchors. The band is the margin of ±{report.margin:g}."
        key = []
    values = [end for row in rows for end in (row.value, *(row.interval or ()))]
    signed = not report.translations
    domain = _domain([*values, -report.margin, report.margin]) if signed else _domain(values)
    tables = []
    if report.translations:
        tables.append(PageTable("History", history_columns(report), translation_rows(report)))
    if channel_rows(report):
        tables.append(PageTable("Exchange rate", channel_columns(report), channel_rows(report)))
    return ScorePage(
        kind="bridge",
        title=f"{report.old} → {report.new}",
        lead=bridge_sentence(report),
        facts=[
            ("anchors", f"{report.anchors:,}"),
            ("margin", f"{report.margin:g}"),
            ("from", Path(report.name).name),
        ],
        figure_title=title,
        caption=caption,
        **_plots(
            rows,
            title,
            "figure" if report.translations else "difference",
            domain,
            signed=signed,
            zero=signed,
            margin=report.margin if signed else None,
        ),
        key=key,
        tables=tables,
        notes=bridge_notes(report),
        meanings=(
            ("anchors", "Items that both judges rated; they should resemble the items of the history."),
            ("comparable", "The judges differ by less than the margin on average."),
            ("translatable", "Old figures translate with less uncertainty than the margin."),
            ("not comparable", "Neither; the notes say how many anchors would do."),
            (
                "exchange rate",
                "What the new judge gives where the old one gave a level: passed or failed, or a score.",
            ),
            _interval(report.confidence),
        ),
    )
