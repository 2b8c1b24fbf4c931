"""Options of `steelyard trust`; the command line loads this file before anything else of the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.core.settings import ReportOptions, argument, flag, group, setting, several


@dataclass(frozen=True, kw_only=True)
class VerdictOptions:
    """How the rows of a table are read."""

    columns: str | None = setting(
        "Column mapping: item, task, p_drawn; of long tables also rater, value, confidence.", "PART=COLUMN,…"
    )
    values: str | None = setting("Other words for answers: good=1,bad=0.", "WORD=ANSWER,…")
    where: str | None = setting("Keep only rows with these column values: split=test.", "MAP")
    scale: str | None = setting(
        "Scale of the answers: binary, pairwise, or a range such as 1-5 [those that judges gave].", "SCALE"
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    file: Path = argument("FILE|DIR", "path")
    judges: tuple[str, ...] = several(
        "Column of a judge's answers, or a judge of the run; repeatable, the cheapest first.",
        "NAME",
        ("-j", "--judge"),
    )
    people: str | None = setting("Column of people's labels [label, in a run].", "COLUMN")
    signals: tuple[str, ...] = several(
        "Signal of confidence: a column, or of a run repeats, orders, jury, stated or token; repeatable, and "
        "the best one is chosen.",
        "[JUDGE=]SIGNAL",
        ("--signal",),
    )
    error: float = setting(
        "Largest share of accepted answers that may differ from people's.",
        "SHARE",
        default=0.1,
        kind="promised error",
    )
    confidence: float = setting(
        "Confidence that the promise is kept.", "SHARE", default=0.9, kind="confidence"
    )
    only: str | None = setting("Count as wrong this answer alone, where people say another: pass.", "ANSWER")
    prices: tuple[str, ...] = several(
        "Price of 1,000 verdicts of a judge, or of people; repeatable.", "JUDGE|people=USD", ("--price",)
    )
    certificate: Path | None = setting(
        "Certificate of the judges: their fingerprints, and when the promise expires [that of the run].",
        "FILE",
        kind="file",
    )
    bind: tuple[str, ...] = several(
        "Judge as in a study file, whose fingerprint the promise is tied to; repeatable.", "[NAME=]JUDGE"
    )
    reading: VerdictOptions = group(VerdictOptions)
    seed: int = setting("Random seed.", "N", default=7, kind="integer")
    out: Path | None = setting("File to write [trust.json].", "FILE", kind="file")
    page: Path | None = setting("Write a page with one figure here.", "FILE", ("--html",), kind="file")
    as_json: bool = flag("Print the figures as JSON.", ("--json",))


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    trust: Path = argument("TRUST.json", "file")
    file: Path = argument("FILE|DIR", "path")
    out: Path | None = setting("Table to write [FILE-trust.csv].", "FILE", kind="file")
    reading: VerdictOptions = group(VerdictOptions)
    as_json: bool = flag("Print the counts as JSON.", ("--json",))


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    trust: Path = argument("TRUST.json", "file")
    file: Path = argument("FILE|DIR", "path")
    people: str | None = setting("Column of people's answers [that of the fit].", "COLUMN")
    reading: VerdictOptions = group(VerdictOptions)
    report: ReportOptions = group(ReportOptions)
