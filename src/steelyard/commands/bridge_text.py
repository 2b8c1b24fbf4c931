"""A bridge in words: the sentence, the exchange rate, the translated history, the notes."""

from __future__ import annotations

from steelyard.commands.bridge import BridgeReport
from steelyard.core.text import percent, pluralize, round_up


def bridge_sentence(report: BridgeReport) -> str:
    return f"{report.old} to {report.new}: {report.verdict}; {report.reason}."


def channel_columns(report: BridgeReport) -> tuple[str, ...]:
    level = percent(report.confidence)
    if report.binary:
        return "the old judge", "anchors", "the new one passes", f"share [{level}]"
    levels = report.channel.new if report.channel else ()
    return "the old judge", "anchors", f"mean of the new one [{level}]", *(f"new {each:g}" for each in levels)


def history_columns(report: BridgeReport) -> tuple[str, ...]:
    strata = ("stratum",) if _has_strata(report) else ()
    return ("period", *strata, "items", "old", f"translated [{percent(report.confidence)}]")


def _has_strata(report: BridgeReport) -> bool:
    return any(each.row.stratum for each in report.translations)


def translation_rows(report: BridgeReport) -> list[tuple[str, ...]]:
    made: list[tuple[str, ...]] = []
    for each in report.translations:
        row, figure = each.row, each.figure
        text = f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
        where = (row.stratum,) if _has_strata(report) else ()
        made.append((row.period, *where, f"{row.items:,}", f"{row.value:.3f}", text))
    return made


def channel_rows(report: BridgeReport) -> list[tuple[str, ...]]:
    channel = report.channel
    if channel is None or len(channel.old) < 2:
        return []
    made: list[tuple[str, ...]] = []
    parts = zip(channel.old, channel.counts, channel.means()[0], channel.mean_limits(), strict=True)
    for level, counts, mean, (low, high) in parts:
        total, figure = int(counts.sum()), f"{mean:.3f} [{low:.3f}, {high:.3f}]"
        if report.binary:
            passes = round(float(mean) * total)
            made.insert(0, ("passed" if level else "failed", f"{total:,}", f"{passes:,}", figure))
        else:
            made.append((f"{level:g}", f"{total:,}", figure, *(f"{count:,}" for count in counts)))
    return made


def bridge_notes(report: BridgeReport) -> list[str]:
    shift = report.shift
    anchors = pluralize(report.anchors, "anchor")
    made = [f"New less old on {anchors}: {shift.value:+.3f} [{shift.low:+.3f}, {shift.high:+.3f}]."]
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
        for judge, (differ, pairs) in zip((report.old, report.new), report.repeats, strict=True)
        if pairs
    ]
    if noise:
        made.append(f"Repeats on one anchor that differ, noise of the judge itself: {', '.join(noise)}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
