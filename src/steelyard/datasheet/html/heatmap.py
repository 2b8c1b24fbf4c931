"""Figure: judges against probes, a share in every tile with its interval and count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.glossary import probe_name
from steelyard.datasheet.html.figure import Figure, Panel, cell, everyone, looks, spoken
from steelyard.datasheet.html.labels import LETTER
from steelyard.datasheet.html.tiles import Grid, Tile, draw_tiles
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

SIGNS = {"flagged": "!", "underpowered": "?"}
"""Signs beside a figure that was held against a limit."""
Cells = Mapping[tuple[str, str], Estimate]
"""Judge and probe to the share."""
COLUMNS = 8
"""Judges beside each other in one drawing; more go below."""
CAPTIONS = {
    "accuracy": (
        "Verdicts that are the expected one, by probe. A stronger colour is a higher share; below it stand "
        "the 95 % interval and the count. Baselines stand apart."
    ),
    "invariance": (
        "Verdicts on edited texts that equal the judge's own verdict on the unchanged one; only edits that "
        "keep the label ask for it. A judge that always says the same has an invariance of 1. ! is flagged: "
        "the edit changes more than repeats do; ? is underpowered."
    ),
}


def heatmap(summary: Summary, metric: str) -> Figure | None:
    """The share of every judge on every probe; None where no judge has one."""
    found = {(e.judge, e.probe): e for e in summary.datasheet.estimates if _whole(e, metric)}
    words = {key: _word(summary, e) for key, e in found.items()}
    probes = list(dict.fromkeys(probe for _, probe in found))
    judges = [judge for judge in everyone(summary) if any(name == judge.name for name, _ in found)]
    if not any(numbers.defined(estimate) for estimate in found.values()):
        return None
    header = ("probe", *(judge.name for judge in judges))
    rows = [
        (probe_name(probe), *(cell(summary, found.get((judge.name, probe))) for judge in judges))
        for probe in probes
    ]
    title = f"{metric.capitalize()} by probe"
    panels = [Panel(_drawing(summary, found, words, probes, part, title)) for part in _parts(judges)]
    return Figure(f"heat-{metric}", title, CAPTIONS[metric], tuple(panels), header, tuple(rows), wide=True)


def _whole(estimate: Estimate, metric: str) -> bool:
    return estimate.metric == metric and dict(estimate.group) == {"protocol": "base"}


def _parts(judges: Sequence[JudgeEntry]) -> list[Sequence[JudgeEntry]]:
    """Even groups of judges, baselines in the last."""
    groups = -(-len(judges) // COLUMNS)
    ends = [number * len(judges) // groups for number in range(groups + 1)]
    return [judges[ends[number] : ends[number + 1]] for number in range(groups)]


def _drawing(
    summary: Summary,
    found: Cells,
    words: Mapping[tuple[str, str], str],
    probes: Sequence[str],
    judges: Sequence[JudgeEntry],
    title: str,
) -> str:
    look = looks(summary)
    names = [probe_name(probe) for probe in probes]
    grid = Grid(
        rows=names,
        columns=[look[judge.name].label for judge in judges],
        tiles=[
            _tile(row, column, found.get((judge.name, probe)), words.get((judge.name, probe), ""), judge)
            for row, probe in enumerate(probes)
            for column, judge in enumerate(judges)
        ],
        apart=sum(not judge.baseline for judge in judges) or len(judges),
        side=round(LETTER * max(map(len, names))) + 14,
    )
    header = ("probe", *(judge.name for judge in judges))
    said = [
        (name, *(cell(summary, found.get((judge.name, probe))) for judge in judges))
        for name, probe in zip(names, probes, strict=True)
    ]
    return draw_tiles(grid, title=title, label=spoken(header, said))


def _word(summary: Summary, estimate: Estimate) -> str:
    """The finding of the share, or with repeats that of its excess over them; baselines have none."""
    if not any(judge.name == estimate.judge for judge in summary.measured):
        return ""
    excess = summary.datasheet.find(estimate.judge, "excess_flip", estimate.probe, **estimate.group)
    beyond = excess.finding if excess is not None and estimate.metric == "invariance" else None
    return estimate.finding or beyond or ""


def _tile(row: int, column: int, estimate: Estimate | None, word: str, judge: JudgeEntry) -> Tile:
    if estimate is None:
        return Tile(row, column, "–")
    if numbers.undefined(estimate):
        return Tile(row, column, "undefined")
    beside = " ".join(part for part in (numbers.interval(estimate), numbers.counts(estimate)) if part)
    figure = f"{numbers.value(estimate)} {SIGNS.get(word, '')}".rstrip()
    return Tile(row, column, figure, beside, estimate.value, "muted" if judge.baseline else "stable")
