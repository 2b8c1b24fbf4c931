"""The calibration tables: a summary for `concepts.md`, one row per figure for `calibration.md`.

Both are written from `calibration.json`, which `make calibrate` makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from score_tables import arena_section, corrected_section, rank_section, worth_section

from steelyard.datasheet.glossary import metric_named
from steelyard.metrics.instrument.estimates import LIMIT_OF_DETECTION
from steelyard.metrics.instrument.likelihood import NAMES

FILE = Path(__file__).parent / "calibration.json"
CLUSTERS, CORRELATIONS = (4, 10, 24), ("0", ".1", ".3")
NOMINAL, FLOOR = 0.95, 0.93
SELDOM = 0.9
"""Share of runs with an interval below which a cell says so."""
AT_ONCE = "all_cells"
"""Stands for a metric where the cells of one table are held against the truth at once."""

TITLES = {
    "pairs": "Pairs",
    "binary": "Yes or no",
    "skewed": "Yes or no, four labels of five yes",
    "ordinal": "Scores from 1 to 5",
    "pairs compared": "Two judges of pairs",
    "scores compared": "Two judges of single texts",
    "instrument": "The joint fit",
    "cues": "Worth of a cue",
    "cues of texts": "Worth of a cue on single texts",
}
"""Name of a simulated sheet to the heading of its tables."""

_FEW_ERRORS = "with few clusters there are few errors, and often one cluster holds all that the judges share."
_PAIRS_ALIKE = (
    "pairs of a cluster that behave alike say less than others, and four clusters hardly show how much less."
)
_PERCENTILES = "percentiles of few clusters drawn again, of a figure that is skewed near 1."
_RARE = (
    "what moves it is rare and comes together in few clusters; a run without it has little spread as well."
)
_BELOW_THE_LINE = "it has the accuracy below the line, which is skewed near 1."
_FEW_LOSSES = (
    "over a whole run so few clusters lose a call that the spread between them seldom shows; rates of single "
    "probes fare better."
)
REMARKS = {
    ("binary", "accuracy_mean"): _PERCENTILES,
    ("binary", "cost_per_point"): _BELOW_THE_LINE,
    ("binary", "error_correlation"): _FEW_ERRORS,
    ("binary", "failed_rate"): _FEW_LOSSES,
    ("binary", "jury_gain"): _RARE,
    ("ordinal", "accuracy_mean"): _PERCENTILES,
    ("ordinal", "cost_per_point"): _BELOW_THE_LINE,
    ("ordinal", "chosen_jury_accuracy"): "half of the clusters, of which few hold the errors of a jury.",
    ("ordinal", "error_correlation"): _FEW_ERRORS,
    ("ordinal", "mae"): _RARE,
    ("ordinal", "mean_score"): _RARE,
    ("ordinal", "failed_rate"): _FEW_LOSSES,
    ("pairs", "failed_rate"): _FEW_LOSSES,
    ("pairs", "unreadable_rate"): _FEW_LOSSES,
    ("binary", "unreadable_rate"): _FEW_LOSSES,
    ("ordinal", "unreadable_rate"): _FEW_LOSSES,
    ("pairs", "delta75"): "percentiles of four clusters drawn again, which cross 75 % at few places.",
    ("cues", "cue_worth"): "four clusters hardly show how much they differ; the built-in pairs are on 60.",
    **{("instrument", metric.id): _PAIRS_ALIKE for metric in (*NAMES, LIMIT_OF_DETECTION)},
}
"""Sheet and metric of a row below the floor to the reason, in a sentence."""


@dataclass(frozen=True)
class Row:
    """One figure, or several taken together."""

    label: str
    """First column."""
    figures: int
    """How many figures are taken together."""
    runs: tuple[int, ...]
    """Runs, by cell."""
    given: tuple[int, ...]
    """Intervals over all figures and runs, by cell."""
    covered: tuple[int, ...]
    """Those that held the truth, by cell."""

    @property
    def shares(self) -> list[float | None]:
        """Coverage, by cell."""
        return [k / n if n else None for k, n in zip(self.covered, self.given, strict=True)]

    @property
    def low(self) -> bool:
        """Some cell lies below the floor by more than two standard errors of the simulation.

        Figures of one run may all miss together, so the runs alone are counted as independent.
        """
        return any(
            share is not None and share < FLOOR - 2 * sqrt(FLOOR * (1 - FLOOR) / min(runs, given))
            for share, runs, given in zip(self.shares, self.runs, self.given, strict=True)
        )

    @property
    def held(self) -> bool:
        """Every cell reaches the floor, and has an interval in nearly every run."""
        return all(
            share is not None and share >= FLOOR and given >= SELDOM * self.figures * runs
            for share, given, runs in zip(self.shares, self.given, self.runs, strict=True)
        )

    def line(self) -> str:
        """The row of a table."""
        designed = [self.figures * number for number in self.runs]
        cells = map(_cell, self.shares, self.given, designed)
        return f"| {self.label} | {' | '.join(cells)} |"


def _cell(share: float | None, given: int, designed: int) -> str:
    if share is None:
        return "–"
    text = f"**{_decimal(share)}**" if share < FLOOR else _decimal(share)
    return f"{text} °" if given < SELDOM * designed else text


def _decimal(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def load() -> dict[str, Any]:
    """What was simulated."""
    body: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return body


def by_metric(sheet: dict[str, Any]) -> dict[str, Row]:
    """Metrics with their coverage over all probes and conditions."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in sheet["rows"]:
        rows.setdefault(row["metric"], []).append(row)
    return {metric: _pooled(_label(metric), mine, sheet["runs"]) for metric, mine in rows.items()}


def _pooled(label: str, rows: Sequence[dict[str, Any]], runs: Sequence[int]) -> Row:
    given, covered = (
        tuple(sum(cell) for cell in zip(*(row[key] for row in rows), strict=True))
        for key in ("given", "covered")
    )
    return Row(label, len(rows), tuple(runs), given, covered)


def _label(metric: str) -> str:
    if metric == AT_ONCE:
        return "all cells of a table at once"
    return metric_named(metric).label


def marked() -> set[tuple[str, str]]:
    """Sheets and metrics that have a cell below the floor in the summary, and not by chance."""
    sheets = load()["sheets"]
    return {(name, metric) for name in sheets for metric, row in by_metric(sheets[name]).items() if row.low}


def summary() -> str:
    """What `concepts.md` shows: one row for each simulated sheet."""
    sheets = load()["sheets"]
    head = ["| sheet | figures | cells | below .93 | lowest |", "| :-- | --: | --: | --: | :-- |"]
    return "\n".join([*head, *(_summary_line(name, sheets[name]) for name in TITLES if name in sheets), ""])


def _summary_line(name: str, sheet: dict[str, Any]) -> str:
    rows = list(by_metric(sheet).values())
    shares = [(share, row.label) for row in rows for share in row.shares if share is not None]
    low, label = min(shares)
    below = sum(share < FLOOR for share, _ in shares)
    return f"| {TITLES[name]} | {len(rows)} | {len(shares)} | {below} | {_decimal(low)}, {label} |"


def _head() -> list[str]:
    columns = [f"ρ {correlation}, {clusters}" for correlation in CORRELATIONS for clusters in CLUSTERS]
    return [f"| figure | {' | '.join(columns)} |", "| :-- |" + " --: |" * len(columns)]


def page() -> str:
    """The whole of `calibration.md`."""
    body = load()
    sheets, low = body["sheets"], marked()
    reasons: dict[str, list[str]] = {}
    for (name, metric), text in REMARKS.items():
        if (name, metric) in low:
            reasons.setdefault(text, []).append(f"{TITLES[name]}, {_label(metric)}")
    remarks = [f"- *{'; '.join(places)}*: {text}" for text, places in reasons.items()]
    # What was simulated apart from the rest; a full `make calibrate` leaves nothing to say.
    apart = [body["apart"], ""] if "apart" in body else []
    head = HEAD.format(**body, runs=_runs(sheets))
    parts = [head, *apart, *_head(), *_rows(sheets), "", LOW, "", *remarks, "", *_single(sheets)]
    parts += worth_section(body["scale_worths"]) if "scale_worths" in body else []
    parts += rank_section(body["rank_sets"]) if "rank_sets" in body else []
    parts += corrected_section(body["corrected_scores"]) if "corrected_scores" in body else []
    parts += arena_section(body["arena_scores"]) if "arena_scores" in body else []
    return "\n".join(parts)


def _rows(sheets: dict[str, Any]) -> Iterator[str]:
    """A row for each figure that has a cell below the floor, and one for all others of a sheet."""
    for name, title in TITLES.items():
        if name in sheets:
            yield f"| *{title}* |" + " |" * len(CLUSTERS) * len(CORRELATIONS)
            rows = list(by_metric(sheets[name]).values())
            yield from (row.line() for row in rows if not row.held)
            if held := [row for row in rows if row.held]:
                least = [
                    min(share for share in cell if share is not None)
                    for cell in zip(*(row.shares for row in held), strict=True)
                ]
                labels = ", ".join(row.label for row in held)
                yield f"| least of: {labels} | {' | '.join(map(_decimal, least))} |"


def _single(sheets: dict[str, Any]) -> list[str]:
    """Single probes and conditions that are low where their figure as a whole is not."""
    told = [
        f"{TITLES[name]}, {row.label} {_decimal(min(share for share in row.shares if share is not None))}"
        for name in TITLES
        if name in sheets
        for body in sheets[name]["rows"]
        if (row := _pooled(_named(body), [body], sheets[name]["runs"])).low
        and (name, body["metric"]) not in marked()
    ]
    return [f"{SINGLE} {'; '.join(told)}.", ""] if told else []


def _named(row: dict[str, Any]) -> str:
    return ", ".join(part for part in (row["probe"], _label(row["metric"]), row["condition"]) if part)


def _runs(sheets: dict[str, Any]) -> str:
    told = []
    for name in TITLES:
        if name in sheets:
            least = min(sheets[name]["runs"])
            error = sqrt(NOMINAL * (1 - NOMINAL) / least)
            told.append(f"{TITLES[name].lower()} {least} (± {error:.3f})".replace("0.", "."))
    return ", ".join(told)


LOW = """\
Figures whose every cell is at least .93 share one row, with the least of them. Bold cells lie below .93. The
list explains those that two standard errors of the simulation do not explain. A ° marks cells where fewer
than nine runs in ten had an interval, because clusters did not differ; the others are left out."""

SINGLE = """\
A figure above is pooled over its probes and conditions; `docs/calibration.json` has each of them. These lie
below .93 by more than two standard errors although their figure as a whole does not (lowest cell):"""

HEAD = """\
# Calibration

<!-- Written by docs/generate.py from docs/calibration.json; `make calibrate` makes both again. -->

For authors.
How often the first interval of each figure holds the truth, for judges whose truth is known. Nominal is .95.
Columns: intra-cluster correlation ρ and number of clusters.

Simulated {date} with `{command}`, which `make calibrate` runs at full size: Steelyard {steelyard}, Python
{python}, numpy {numpy}, scipy {scipy}, {machine}. Runs of each cell, with the standard error of one figure at
.95: {runs}.

- **Clusters.** Two pairs or items of a cluster share their behaviour with probability ρ and are independent
  otherwise, so every event has the intra-cluster correlation ρ. Clusters are a random sample.
- **Pairs.** The `standard` design of a cluster: 6 vacuum pairs, 6 pairs of equals, 15 pairs up the ladder, 6
  controls, both orders once, under two prompts; 4 natural pairs, both orders three times. The judge follows
  the instrument model: resolution 0.8 (1.2 for the judge it is compared with), position bias 0.4, tie
  threshold 0.6, surface sensitivity 0.7, lapses in 2 % of calls.
- **Single texts.** 4 items of a cluster, asked three times, edited twice, put to the border three times,
  emptied once. Three judges alike in law follow the same rule on three items in ten. Yes or no: right in .87
  of calls. Scores: right in .55, within one in .9.
- **A rare label.** The same with one judge: four items of five deserve a yes; right in .9 on either label.
- **Cues.** The `standard` design of `tradeoff` with one cue worth 1.5 steps, resolution 1.5, on clusters
  whose worth, resolution and position bias differ by √(ρ/.1) times .3 steps, .25 and .6. On single texts five
  rows of a cluster, a cue worth 1.5 levels, a rise of 1 a level.
- **Lost calls.** 2 % unreadable, 1 % failed, clustered like everything else.
- **Truth.** The planted parameters for the joint fit and the worths; zero for two judges of single texts,
  which are alike in law; else the figure itself on 2,000 clusters. Figures reported per run (cost per point)
  are per cluster.
"""
