"""A bridge in words: the sentence, the exchange rate, the translated history, the page, the notes."""

from __future__ import annotations

from pathlib import Path

from steelyard.core.text import percent, pluralize, round_up
from steelyard.datasheet.render.report import (
    JUDGE,
    PEOPLE,
    KeyEntry,
    Plot,
    Report,
    ReportTable,
    decimals,
    interval_meaning,
    judge_row,
    plot_domain,
    plot_row,
    signed,
)
from steelyard.importing.ratings import RatingsTable
from steelyard.survey.bridge import BridgeReport, bridge
from steelyard.survey.options import BridgeOptions


def bridge_report(table: RatingsTable, options: BridgeOptions) -> Report:
    found = bridge(table, options)
    return Report(
        kind="bridge",
        title=f"{found.old} → {found.new}",
        lead=f"{found.old} to {found.new}: {found.verdict}; {found.reason}.",
        facts=[
            ("anchors", f"{found.anchors:,}"),
            ("margin", f"{found.margin:g}"),
            ("from", Path(found.source).name),
        ],
        plot=_history_plot(found) if found.history else _shift_plot(found),
        tables=[*_history_table(found), *_channel_table(found)],
        notes=bridge_notes(found),
        meanings=(
            ("anchors", "Items that both judges rated; they should resemble the items of the history."),
            ("comparable", "The judges differ by less than the margin on average."),
            ("translatable", "Old figures translate with less uncertainty than the margin."),
            ("not comparable", "Neither; the notes say how many anchors would do."),
            (
                "exchange rate",
                "What the new judge gives where the old one gave a level: passed or failed, or a score.",
            ),
            interval_meaning(found.confidence),
        ),
        body=found.to_json(),
    )


def _history_plot(report: BridgeReport) -> Plot:
    rows = []
    for each in report.history:
        name = f"{each.row.period} {each.row.stratum}".strip()
        text = f"{each.row.value:.3f} → {decimals(each.figure)}"
        rows += [plot_row(name, each.figure, PEOPLE, text), judge_row(name, each.row.value)]
    level = percent(report.confidence)
    return Plot(
        "The history as the new judge would give it",
        f"A diamond is the old judge's figure, a dot with its {level} interval the translated one.",
        rows,
        "figure",
        plot_domain(rows),
        key=[KeyEntry("◇", JUDGE, f"{report.old}, as reported"), KeyEntry("●", PEOPLE, f"as {report.new}")],
    )


def _shift_plot(report: BridgeReport) -> Plot:
    rows = [plot_row("new less old", report.shift, PEOPLE, signed(report.shift))]
    return Plot(
        "How far the new judge is from the old one",
        f"Mean difference on the anchors. The band is the margin of ±{report.margin:g}.",
        rows,
        "difference",
        plot_domain(rows, -report.margin, report.margin),
        signed=True,
        zero_line=True,
        margin=report.margin,
    )


def _history_table(report: BridgeReport) -> list[ReportTable]:
    has_strata = any(each.row.stratum for each in report.history)
    rows: list[tuple[str, ...]] = []
    for each in report.history:
        where = (each.row.stratum,) if has_strata else ()
        counts = f"{each.row.items:,}", f"{each.row.value:.3f}"
        rows.append((each.row.period, *where, *counts, decimals(each.figure)))
    strata = ("stratum",) if has_strata else ()
    titles = ("period", *strata, "items", "old", f"translated [{percent(report.confidence)}]")
    return [ReportTable("History", titles, rows)] if rows else []


def _channel_table(report: BridgeReport) -> list[ReportTable]:
    channel, level = report.channel, percent(report.confidence)
    if channel is None or len(channel.old) < 2:
        return []
    rows: list[tuple[str, ...]] = []
    parts = zip(channel.old, channel.counts, channel.means()[0], channel.mean_limits(), strict=True)
    for old, counts, mean, (low, high) in parts:
        total, figure = int(counts.sum()), f"{mean:.3f} [{low:.3f}, {high:.3f}]"
        if report.binary:
            passes = round(float(mean) * total)
            rows.insert(0, ("passed" if old else "failed", f"{total:,}", f"{passes:,}", figure))
        else:
            rows.append((f"{old:g}", f"{total:,}", figure, *(f"{count:,}" for count in counts)))
    titles: tuple[str, ...] = "the old judge", "anchors", "the new one passes", f"share [{level}]"
    if not report.binary:
        levels = (f"new {each:g}" for each in channel.new)
        titles = "the old judge", "anchors", f"mean of the new one [{level}]", *levels
    return [ReportTable("Exchange rate", titles, rows)]


def bridge_notes(report: BridgeReport) -> list[str]:
    made = [f"New less old on {pluralize(report.anchors, 'anchor')}: {signed(report.shift)}."]
    if report.strata_p is not None:
        made.append(f"One exchange rate for all strata: p {report.strata_p:.3f}.")
    if report.anchors_needed is not None:
        needed = pluralize(round_up(report.anchors_needed), "anchor")
        made.append(f"About {needed} would bring the uncertainty down to {report.margin:g}.")
    if report.people is not None:
        count, old, new = report.people
        labels = pluralize(count, "labelled anchor")
        made.append(f"Mean distance from people on {labels}: old {old:.3f}, new {new:.3f}.")
    noise = [
        f"{judge} {differ:,} of {pluralize(pairs, 'pair')}"
        for judge, (differ, pairs) in zip((report.old, report.new), report.repeats_that_differ, strict=True)
        if pairs
    ]
    if noise:
        made.append(f"Repeats on one anchor that differ, noise of the judge itself: {', '.join(noise)}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
