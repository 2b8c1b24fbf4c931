"""The calibration tables: a summary for `concepts.md`, every row for `calibration.md`.

Both are written from `calibration.json`, which `make calibrate` makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from steelyard.datasheet.words.glossary import metric_named
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

    def line(self) -> str:
        """The row of a table."""
        designed = [self.figures * number for number in self.runs]
        cells = map(_cell, self.shares, self.given, designed)
        return f"| {self.label} | {_decimal(NOMINAL)} | {' | '.join(cells)} |"


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
    """What `concepts.md` shows: one row for each figure, and a sentence for each that has a low cell."""
    body = load()
    remarks = [
        f"- *{TITLES[s]}, {_label(m)}*: {text}" for (s, m), text in REMARKS.items() if (s, m) in marked()
    ]
    head = SUMMARY_HEAD.format(**body, runs=_runs(body["sheets"]))
    # What was simulated apart from the rest; a full `make calibrate` leaves nothing to say.
    apart = [body["apart"], ""] if "apart" in body else []
    return "\n".join([head, *apart, *_head("figure"), *_summary_lines(body["sheets"]), "", LOW, "", *remarks])


def _summary_lines(sheets: dict[str, Any]) -> Iterator[str]:
    for name, title in TITLES.items():
        if name in sheets:
            yield f"| *{title}* |" + " |" * 10
            yield from (row.line() for row in by_metric(sheets[name]).values())


def _head(first: str) -> list[str]:
    columns = [f"ρ {correlation}, {clusters}" for correlation in CORRELATIONS for clusters in CLUSTERS]
    return [f"| {first} | nominal | {' | '.join(columns)} |", "| :-- |" + " --: |" * 10]


def page() -> str:
    """The whole of `calibration.md`."""
    sheets = load()["sheets"]
    return "\n".join([HEAD, *(_section(TITLES[name], sheets[name]) for name in TITLES if name in sheets)])


def _section(title: str, sheet: dict[str, Any]) -> str:
    rows = [_pooled(_named(row), [row], sheet["runs"]).line() for row in sheet["rows"]]
    return "\n".join([f"## {title}", "", *_head("probe, figure, condition"), *rows, ""])


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


SUMMARY_HEAD = """\
Coverage of the first interval of every figure, over all probes and conditions that print it; each of them has
a row in [Calibration](calibration.md), which also says what was simulated. Columns: intra-cluster correlation
ρ and number of clusters. Simulated {date} with `{command}`, which `make calibrate` runs at
full size: Steelyard {steelyard}, Python {python}, numpy {numpy}, scipy {scipy}, {machine}. Runs of each cell,
and the standard error of one figure at .95: {runs}.
"""

LOW = """\
Bold cells lie below .93; what follows explains those that two standard errors of the simulation do not. A °
marks cells where fewer than nine runs in ten had an interval at all, because clusters did not differ; the
others are left out of the coverage."""

HEAD = """\
# Calibration

<!-- Written by docs/generate.py from docs/calibration.json; `make calibrate` makes both again. -->

How often the first interval of each figure holds the truth, for judges whose truth is known. The summary,
with date, versions and number of runs, is in [Concepts](concepts.md#how-often-they-cover).

**What goes together.** Every pair or item of a cluster draws its behaviour from an urn of the cluster: two of
them share their behaviour with probability ρ and are independent otherwise. Every event then has exactly the
intra-cluster correlation ρ. The clusters of a run are a random draw: the truth is that of all there
could be.

**Pairs.** The `standard` design of a cluster: 6 vacuum pairs, 6 pairs of equals, 15 pairs up the ladder, 6
controls, both orders once, under two prompts; and 4 natural pairs, both orders three times. The judge answers
by the instrument model with resolution 0.8 (1.2 for the judge it is compared with), position bias 0.4, tie
threshold 0.6, surface sensitivity 0.7, lapses in 2 % of calls.

**Single texts.** 4 items of a cluster, asked three times, edited twice, put to the border three times and
emptied once. Three judges alike in law, which follow the same rule on three items in ten. Yes or no: right in
.87 of calls. Scores: right in .55, within one in .9.

**A rare label.** The same with one judge: four items of five deserve a yes, and it is right in .9 of calls on
either label.

**Lost calls.** 2 % unreadable, 1 % failed; they go together within clusters like everything else.

**Truth.** The planted parameters for the joint fit, zero for two judges of single texts, which are alike in
law; else the figure itself on 2,000 clusters. Figures reported per run (cost per point) are taken per
cluster.

A bold cell lies below .93; a ° says that fewer than nine runs in ten had an interval. Of cells that are truly
.95, a few lie below .93 by the chance of the simulation.
"""
