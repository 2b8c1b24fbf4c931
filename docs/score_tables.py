"""The calibration tables of corrected scores: on planted judges by design, and on real verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

NOMINAL, FLOOR = 0.95, 0.93
FEW_FLOOR = 0.90
"""Of scores that are nearly all at one end, from 60 labels and fewer."""
ONE_END, FEW_LABELS = ("top-heavy", "bottom-heavy"), 60
FEWEST_GIVEN = 50
"""Intervals below which a cell is one of refusals."""
WORST = 10
"""Cells that are listed."""
PARTS = {
    "grid": "these items, one a task",
    "tasks of ten": "items drawn at random, ten a task",
    "population": "the population behind the items",
    "whole tasks": "whole tasks of ten labelled",
}
LABELS = {part: (30, 50, 80) if part == "whole tasks" else (20, 60, 300) for part in PARTS}


def low(held: int, given: int, floor: float = FLOOR) -> bool:
    """Below the floor by more than two standard errors of the simulation."""
    return given > 0 and held / given < floor - 2 * sqrt(floor * (1 - floor) / given)


@dataclass(frozen=True)
class Cell:
    row: dict[str, Any]
    labels: int
    held: int
    given: int

    @property
    def coverage(self) -> float:
        return self.held / self.given

    @property
    def is_refused(self) -> bool:
        return self.given < FEWEST_GIVEN

    @property
    def is_low(self) -> bool:
        few = self.row["shape"] in ONE_END and self.row["scale"] != "yes or no" and self.labels <= FEW_LABELS
        return not self.is_refused and low(self.held, self.given, FEW_FLOOR if few else FLOOR)

    @property
    def words(self) -> str:
        row = self.row
        part = "" if row["part"] == "grid" else f"{PARTS[row['part']]}, "
        return (
            f"{row['scale']}, {row['shape']}, `{row['design']}`, {part}{self.labels} labels, judge "
            f"{row['judge']} {_decimal(self.coverage, 3)}"
        )


def cells(body: dict[str, Any]) -> list[Cell]:
    return [
        Cell(row, labels, held, given)
        for row in body["rows"]
        for labels, held, given in zip(LABELS[row["part"]], row["held"], row["given"], strict=True)
    ]


def corrected_section(body: dict[str, Any]) -> list[str]:
    """Least coverage over the judges by scale, shape and design, one table for each kind of claim."""
    found = cells(body)
    known = [cell for cell in found if not cell.is_refused]
    worst = sorted(known, key=lambda cell: cell.coverage)[:WORST]
    below = sum(cell.is_low for cell in known)
    lines = [
        CORRECTED.format(
            date=body["date"],
            cells=len(found),
            runs=f"{body['runs']:,}",
            error=_decimal(sqrt(FLOOR * (1 - FLOOR) / body["runs"]), 3),
            machine=body["machine"],
            fewest=FEWEST_GIVEN,
            refused=len(found) - len(known),
        )
    ]
    for part, name in PARTS.items():
        mine = [cell for cell in found if cell.row["part"] == part]
        if mine:
            lines += [f"*{name[0].upper()}{name[1:]}*", "", *_least_table(mine, LABELS[part]), ""]
    told = "No cell lies" if not below else f"{below} of {len(known):,} cells lie"
    lines.append(
        f"{told} below {_decimal(FLOOR)} by more than two standard errors ({_decimal(FEW_FLOOR)} for"
    )
    lines.append(
        f"top-heavy and bottom-heavy scores with up to {FEW_LABELS} labels). The {WORST} lowest cells:"
    )
    lines += ["", *(f"- {cell.words}" for cell in worst), ""]
    return lines


def _least_table(found: Sequence[Cell], labels: Sequence[int]) -> list[str]:
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.row["scale"], cell.row["shape"], cell.row["design"]), []).append(cell)
    lines = [
        f"| scale, labels, design | {' | '.join(f'{count} labels' for count in labels)} |",
        "| :-- |" + " --: |" * len(labels),
    ]
    for (scale, shape, design), mine in groups.items():
        least = []
        for count in labels:
            shares = [cell.coverage for cell in mine if cell.labels == count and not cell.is_refused]
            least.append(_cell(min(shares)) if shares else "–")
        lines.append(f"| {scale}, {shape}, `{design}` | {' | '.join(least)} |")
    return lines


def worth_section(body: dict[str, Any]) -> list[str]:
    """Coverage of the worth of a cue on single texts, by scale, shape and planted worth."""
    worths = list(dict.fromkeys(row["worth"] for row in body["rows"]))
    sizes = list(dict.fromkeys((row["clusters"], row["rows"]) for row in body["rows"]))
    false = [row for row in body["rows"] if abs(row["worth"]) <= 0.5 and row["given"] >= FEWEST_GIVEN]
    lines = [
        WORTHS.format(
            date=body["date"],
            runs=f"{body['runs']:,}",
            error=_decimal(sqrt(FLOOR * (1 - FLOOR) / body["runs"]), 3),
            machine=body["machine"],
            fewest=FEWEST_GIVEN,
            flagged=_decimal(max(row["flagged"] / body["runs"] for row in false), 3),
            zero=_decimal(max(row["flagged"] / body["runs"] for row in false if not row["worth"]), 3),
        ),
        f"| scale, labels, rows | {' | '.join(f'{worth:g}'.replace('-', '−') for worth in worths)} |",
        "| :-- |" + " --: |" * len(worths),
    ]
    for scale, shape in dict.fromkeys((row["scale"], row["shape"]) for row in body["rows"]):
        for clusters, rows in sizes:
            mine = [
                row
                for row in body["rows"]
                if (row["scale"], row["shape"], row["clusters"], row["rows"])
                == (scale, shape, clusters, rows)
            ]
            cells = [_worth_cell(row, body["runs"]) for row in mine]
            lines.append(f"| {scale}, {shape}, {clusters * rows} | {' | '.join(cells)} |")
    return [*lines, ""]


def _worth_cell(row: dict[str, Any], runs: int) -> str:
    if row["given"] < FEWEST_GIVEN:
        return "–"
    return _cell(row["held"] / row["given"]) + (" °" if row["given"] < 0.9 * runs else "")


def rank_section(body: dict[str, Any]) -> list[str]:
    """How often equal systems are told apart."""
    lines = [
        RANKS.format(date=body["date"], runs=f"{body['runs']:,}", machine=body["machine"]),
        "| systems | comparisons | with votes | votes of a system | told apart |",
        "| --: | --: | --: | --: | --: |",
    ]
    for row in body["rows"]:
        votes = row["labels"] or row["comparisons"]
        cells = [row["systems"], row["comparisons"], votes, 2 * votes // row["systems"]]
        share = _decimal(row["wrong"] / body["runs"], 3)
        lines.append(f"| {' | '.join(map(str, cells))} | {share} |")
    return [*lines, ""]


def arena_section(body: dict[str, Any]) -> list[str]:
    """Least coverage over three judges and mean half-width of the corrected win rate, by design."""
    labels = sorted({row["labels"] for row in body["rows"]})
    quantities = list(dict.fromkeys(row["quantity"] for row in body["rows"]))
    columns = [f"{quantity}, {count} labels" for quantity in quantities for count in labels]
    error = sqrt(NOMINAL * (1 - NOMINAL) / body["runs"])
    lines = [
        ARENA.format(date=body["date"], runs=f"{body['runs']:,}", error=_decimal(error, 3)),
        f"| design, claim | {' | '.join(columns)} |",
        "| :-- |" + " --: |" * len(columns),
    ]
    for design, of in dict.fromkeys((row["design"], row["of"]) for row in body["rows"]):
        mine = [row for row in body["rows"] if (row["design"], row["of"]) == (design, of)]
        made = [
            _arena_cell([row for row in mine if (row["quantity"], row["labels"]) == (quantity, count)])
            for quantity in quantities
            for count in labels
        ]
        lines.append(f"| `{design}`, {of} | {' | '.join(made)} |")
    return [*lines, ""]


def _arena_cell(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return "–"
    least = min(row["held"] / row["given"] for row in rows if row["given"])
    widths = [row["half_width"] for row in rows]
    return f"{_cell(least)} ± {_decimal(min(widths))}–{_decimal(max(widths))}"


def _cell(share: float) -> str:
    return f"**{_decimal(share)}**" if share < FLOOR else _decimal(share)


def _decimal(share: float, places: int = 2) -> str:
    return f"{share:.{places}f}".removeprefix("0")


CORRECTED = """\
## Corrected scores

How often the interval of `estimate` holds what people would say, on planted judges: {cells:,} cells of
{runs} runs each (± {error}), simulated {date} on {machine} with
`PYTHONPATH=tests python -m calibration.corrected_scores`. A figure is the least over the judges.

- **Items.** 1,000, on a scale whose ends are known (`--scale`); in tasks of ten half of the items share the
  task's label, three in ten the judge's luck.
- **Shapes.** *Spread* labels; *top-heavy* ones (90 % pass; 90 % of scores from 1 to 5 are 5; 80 % of scores
  from 1 to 10 are 10); their mirror images; *rare* ones (2 % fail; 3 % of scores are 1, the others near the
  top). Of three strata two have the shape and one is spread.
- **Judges.** *Perfect*; *good* (right in 90 %, or off by a deviation of half a level of five); *lenient*
  (passes 40 % of fails, or .4 levels too high and off by .8); *gross* (right, but one answer in twenty gets
  the top); *useless* (any verdict alike); *reversed* (good, upside down).
- **Draws.** By verdict as `labels draw` makes them, or in equal numbers where it would refuse so few labels;
  with odds between 1 and 2, three times as high for the lowest verdict.
- **Refusals.** {refused} cells with fewer than {fewest} intervals are left out: a judge that does not tell
  good from bad carries no labels from elsewhere, and nearly all runs are refused. Of the few that chance
  lets pass, fewer hold.
"""

WORTHS = """\
## Worths at the ends of a scale

How often the interval of `cue_worth` on single texts holds the planted worth, where scores meet the ends
of the scale: {runs} runs a cell (± {error}), simulated {date} on {machine} with `PYTHONPATH=tests python
-m calibration.scale_worth`. A rater scores the label with a deviation of .8 levels, rounded and cut to
the scale. 60 rows are on clusters of their own, 200 on 40 clusters; severity and worth differ between
clusters by .3 levels. Half of *top-heavy* labels are 5 of 5, or 55 % 9 and 10 of 10; *bottom-heavy* ones
are their mirror image.

Columns are planted worths in levels. – marks cells in which fewer than {fewest} runs had 20 rows with
room, ° those in which fewer than nine in ten had. A worth within half a level is flagged in at most
{flagged} of runs, a worth of 0 in at most {zero}. Worths of 3 levels are more than the room of most rows:
where an interval is closed there, the far end of the scale cuts scores off as well.
"""

RANKS = """\
## Ranks of equal systems

How often rank sets claim a difference between systems that are equal, one vote in five a tie; at most .05
is promised for all systems at once. {runs} runs a row, simulated {date} on {machine} with
`PYTHONPATH=tests python -m calibration.ranks`. Where people voted on a part, a judge that is right in 7
of 10 corrects the rest.
"""

ARENA = """\
## Corrected win rates on real verdicts

3,483 comparisons of gpt-4 on the Arena, with people's votes on all (the truth) and three judges. Labels were
drawn {runs} times (± {error}) on {date} with `PYTHONPATH=tests python -m calibration.arena_scores`. A cell
has the least coverage over the judges, and the half-widths from the best judge to the worst.
"""
