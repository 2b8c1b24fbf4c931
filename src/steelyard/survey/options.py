"""Options of the survey commands; the command line loads this file before anything else of the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.core.settings import ReportOptions, argument, flag, group, setting, several


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    columns: str | None = setting("Column mapping: item, value, task, stratum, ….", "PART=COLUMN,…")
    values: str | None = setting("Value mapping: good=1,bad=0.", "WORD=NUMBER,…")
    where: str | None = setting("Keep only rows with these column values: split=test.", "MAP")
    criterion: str | None = setting("Criterion, where the file holds several.", "NAME")


@dataclass(frozen=True, kw_only=True)
class SystemReadingOptions(ReadingOptions):
    columns: str | None = setting("Column mapping: item, value, system, task, stratum, ….", "PART=COLUMN,…")


@dataclass(frozen=True, kw_only=True)
class RatingOptions:
    """A file of ratings, with the judge and the people that count."""

    file: Path = argument("FILE|DIR", "path")
    judge: str | None = setting(
        "Judge: a rater, or a column of a wide table.", "NAME", ("-j", "--judge"), once=True
    )
    people: tuple[str, ...] = several(
        "Person: a rater, or a column of a wide table; repeatable [all].", "NAME"
    )
    scale: str | None = setting(
        "Scale of the scores: binary or a range such as 1-5 [that of the draw or run, or the narrowest usual "
        "one that holds them].",
        "SCALE",
    )
    reading: ReadingOptions = group(SystemReadingOptions)

    @property
    def judges(self) -> tuple[str, ...]:
        return () if self.judge is None else (self.judge,)


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    labels: Path | None = setting(
        "People's labels: a file with item and value, or the folder of `labels draw`.",
        "FILE|DIR",
        kind="path",
    )
    label_columns: str | None = setting(
        "Column mapping of the file of labels: item, value, rater, …. [as --columns]", "PART=COLUMN,…"
    )


def _confidence() -> Any:
    return setting("Confidence of the intervals.", "SHARE", default=0.95, kind="confidence")


@dataclass(frozen=True, kw_only=True)
class EstimateOptions:
    ratings: RatingOptions = group(RatingOptions)
    label_options: LabelOptions = group(LabelOptions)
    design: str | None = setting(
        "How the labels were drawn [from p_drawn].",
        choices=("random", "by-verdict", "strata", "odds", "elsewhere"),
    )
    of: str = setting("What the claim is about.", choices=("items", "population"), default="items")
    system: str | None = setting("System that the figure is about.", "NAME")
    versus: str | None = setting("Other system: estimate the difference, paired by item.", "NAME")
    votes: str = setting(
        "Label of an item that several people labelled.", choices=("mean", "majority"), default="mean"
    )
    by: str | None = setting("Also estimate each stratum.", choices=("stratum",))
    confidence: float = _confidence()
    methods: bool = flag("Print a paragraph for a methods section.")
    report: ReportOptions = group(ReportOptions)


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    design: str | None = setting(
        "How the rows that people rated were drawn; needed to correct the judge [from p_drawn].",
        choices=("random",),
    )
    systems: tuple[str, ...] = several("System to rank; repeatable [all].", "NAME", ("--system",))
    baseline: str | None = setting("System to show paired differences from.", "NAME")
    separate: tuple[str, str] | None = setting(
        "Say how many more votes would tell two systems apart.", "A B", nargs=2
    )
    own_family: tuple[str, ...] = several(
        "System of the judge's own model family; repeatable [by known names].", "NAME"
    )
    ties: str = setting(
        "A tie is half a win to each, or a loss of both.", choices=("half", "loss"), default="half"
    )
    rank_by: str = setting(
        "Figure of comparisons: the win rate, or the Bradley–Terry strength.",
        choices=("win-rate", "strength"),
        default="win-rate",
    )
    confidence: float = _confidence()
    seed: int = setting("Seed of the simulated ranks.", "N", default=7, kind="integer")

    @property
    def by_strength(self) -> bool:
        return self.rank_by == "strength"


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions:
    ratings: RatingOptions = group(RatingOptions)
    label_options: LabelOptions = group(LabelOptions)
    ranks: RankOptions = group(RankOptions)
    report: ReportOptions = group(ReportOptions)


@dataclass(frozen=True, kw_only=True)
class PeopleOptions:
    file: Path = argument("FILE|DIR", "path")
    judges: tuple[str, ...] = several("Judge; repeatable [all].", "NAME", ("-j", "--judge"))
    people: tuple[str, ...] = several("Person; repeatable [all].", "NAME")
    epsilon: float = setting(
        "Largest gap to a person that a judge may have.", "SHARE", default=0.15, kind="not negative"
    )
    level: str = setting(
        "Level of measurement of the ratings; nominal ones may be words.",
        choices=("nominal", "ordinal", "interval", "ratio"),
        default="nominal",
    )
    reading: ReadingOptions = group(ReadingOptions)
    report: ReportOptions = group(ReportOptions)


@dataclass(frozen=True, kw_only=True)
class BridgeOptions:
    file: Path = argument("FILE|DIR", "path")
    old: str = setting("Old judge: a rater, or a column.", "NAME", ("--from",), required=True)
    new: str = setting("New judge: a rater, or a column.", "NAME", ("--to",), required=True)
    people: tuple[str, ...] = several("Person: a rater, or a column; repeatable [all].", "NAME")
    history: Path | None = setting(
        "Old figures: period, value and items, or items by level.", "FILE", kind="file"
    )
    margin: float = setting("Largest uncertainty of a figure.", "WIDTH", default=0.03, kind="positive")
    reading: ReadingOptions = group(ReadingOptions)
    confidence: float = _confidence()
    report: ReportOptions = group(ReportOptions)

    @property
    def judges(self) -> tuple[str, ...]:
        return self.old, self.new


@dataclass(frozen=True, kw_only=True)
class LabelPlanOptions:
    ratings: RatingOptions = group(RatingOptions)
    system: str | None = setting("System that the figure is about.", "NAME")
    half_width: float = setting("Half-width that is wanted.", "WIDTH", default=0.03, kind="positive")
    size: int | None = setting("Also the half-width that N labels give.", "N", ("-n", "--size"), kind="count")
    pilot: Path | None = setting("Draw whose tuning labels are a pilot.", "DIR", kind="folder")
    assume: str | None = setting("Without a pilot: sensitivity=0.9,specificity=0.8.", "MAP")
    promise: float | None = setting(
        "Also the labels that `trust fit` takes to promise that at most this share of accepted answers is "
        "wrong.",
        "SHARE",
        kind="promised error",
    )
    confidence: float = setting("Confidence of that promise.", "SHARE", default=0.9, kind="confidence")
    label_cost: float | None = setting("Price of a label.", "USD", ("--cost-label",), kind="not negative")
    call_cost: float | None = setting("Price of a verdict.", "USD", ("--cost-call",), kind="not negative")
    as_json: bool = flag("Print the plan as JSON.", ("--json",))


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    ratings: RatingOptions = group(RatingOptions)
    size: int = setting("Items to draw.", "N", ("-n", "--size"), default=100, kind="count")
    design: str = setting(
        "At random of all items, of each verdict, or of each stratum.",
        choices=("random", "by-verdict", "strata"),
        default="by-verdict",
    )
    tune: int = setting("Of these, items for tuning.", "N", default=0, kind="natural")
    annotators: str | None = setting("Who labels: a number, or names [anybody].", "N|NAME,…")
    overlap: float = setting("Share of items that all annotators label.", "SHARE", default=0.0, kind="share")
    stop: float | None = setting("Half-width at which labelling may stop early.", "WIDTH", kind="positive")
    texts: str | None = setting("Columns to show: request, response, ….", "PART=COLUMN,…")
    rubric: Path | None = setting("Rubric file that the pages show.", "FILE", kind="file")
    pilot: Path | None = setting("Pilot: sets the numbers, and its labels come along.", "DIR", kind="folder")
    seed: int = setting("Random seed.", "N", default=7, kind="integer")
    out: Path = setting("Folder to write.", "DIR", kind="folder", required=True)


AnyRatings = RatingOptions | PeopleOptions | BridgeOptions
