"""A bridge in words: the sentence, the exchange rate, the translated history, the notes."""

from __future__ import annotations

from steelyard.commands.bridge import BridgeReport
from steelyard.core.text import percent, pluralize


def bridge_sentence(report: BridgeReport) -> str:
    return f"{report.old} to {report.new}: {report.verdict}; {report.reason}."


def channel_columns(report: BridgeReport) -> tuple[str, ...]:
    return "the old judge", "anchors", "the new one passes", f"share [{percent(report.confidence)}]"


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
    if report.channel is None or not report.channel.is_complete:
        return []
    counts, limits = (report.channel.kept, report.channel.turned), report.channel.limits()
    return [
        (word, f"{n:,}", f"{k:,}", f"{k / n:.3f} [{low:.3f}, {high:.3f}]")
        for (k, n), (low, high), word in zip(counts, limits, ("passed", "failed"), strict=True)
    ]


def bridge_notes(report: BridgeReport) -> list[str]:
    shift = report.shift
    anchors = pluralize(report.anchors, "anchor")
    made = [f"New less old on {anchors}: {shift.value:+.3f} [{shift.low:+.3f}, {shift.high:+.3f}]."]
    if report.strata_p is not None:
        made.append(f"One exchange rate for all strata: p {report.strata_p:.3f}.")
    if report.anchors_needed is not None:
        needed = pluralize(report.anchors_needed, "anchor")
        made.append(f"About {needed} would bring the uncertainty down to {report.margin:g}.")
    if report.people is not None:
        count, old, new = report.people
        labels = pluralize(count, "labelled anchor")
        made.append(f"Mean distance from people on {labels}: old {old:.3f}, new {new:.3f}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
