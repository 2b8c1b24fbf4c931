"""Calls of a run: their addresses, those that pass a filter, what is said of them, a map, and downloads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import quote, urlencode

import numpy as np
from starlette.responses import Response, StreamingResponse

from steelyard.commands.call_index import COUNTED, CallFilter, CallIndex, differing_calls
from steelyard.commands.figure_calls import calls_behind, counted_calls, counts_calls, figure_name
from steelyard.commands.viewed_run import LoadedRun, NotFoundError, ViewedRun, details, sort_rows
from steelyard.core.arrays import Ints, Mask
from steelyard.core.text import capital, escape_formula, plural, pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import metric_named, probe_title
from steelyard.datasheet.render.data_files import dumps
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.remedies.mitigations import remedies
from steelyard.stimuli.stimulus import reference_label
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation, Observations


@dataclass(frozen=True)
class Links:
    run: int
    """Its place among the folders that were named."""
    remedy: str = ""
    """The remedy that lists of calls are looked at with."""

    def sheet(self, anchor: str = "") -> str:
        return f"/run/{self.run}/{anchor}"

    def calls(self, wanted: CallFilter | None = None, **more: object) -> str:
        """Calls that pass a filter; `more` changes parts of it, and an empty word takes one away."""
        parts: dict[str, object] = {} if wanted is None else dict(wanted.parts())
        if self.remedy and parts.get("figure"):
            parts["remedy"] = self.remedy
        parts = {name: value for name, value in {**parts, **more}.items() if value not in ("", None)}
        return f"/run/{self.run}/calls" + (f"?{urlencode(parts)}" if parts else "")

    def behind(self, estimate: Estimate) -> str:
        outcome = COUNTED if counts_calls(estimate) else ""
        return self.calls(CallFilter(figure=figure_name(estimate), outcome=outcome))

    def remedied(self, estimate: Estimate, remedy: str) -> str:
        """The calls behind a figure, with the answers that a remedy makes of them."""
        return replace(self, remedy=remedy).calls(CallFilter(figure=figure_name(estimate)))

    def call(self, name: str, stimulus: str, wanted: CallFilter | None = None) -> str:
        """One call, in the list that a filter makes."""
        del stimulus
        return self._listed(f"call/{name}", wanted)

    def stimulus(self, name: str) -> str:
        return f"/run/{self.run}/stimulus?id={quote(name, safe='')}"

    def file(self, name: str, wanted: CallFilter | None = None) -> str:
        return self._listed(f"files/{name}", wanted)

    def _listed(self, page: str, wanted: CallFilter | None) -> str:
        query = "" if wanted is None else urlencode(dict(wanted.parts()))
        return f"/run/{self.run}/{page}" + (f"?{query}" if query else "")

    def chart_file(self, name: str) -> str:
        return f"/run/{self.run}/figures/{name}.svg"

    @property
    def map(self) -> str:
        return f"/run/{self.run}/map"

    @property
    def progress(self) -> str:
        return f"/run/{self.run}/progress"


@dataclass(frozen=True)
class StillLinks(Links):
    """Addresses of pages that are written as files: one page makes every list, call and stimulus."""

    def calls(self, wanted: CallFilter | None = None, **more: object) -> str:
        return super().calls(wanted, **more).replace("?", "#", 1)

    def call(self, name: str, stimulus: str, wanted: CallFilter | None = None) -> str:
        del stimulus
        return self.calls(wanted, call=name)

    def stimulus(self, name: str) -> str:
        return self.calls(texts=name)


REMEMBERED = 20
PART = 500


def passing(run: ViewedRun, loaded: LoadedRun, wanted: CallFilter) -> Mask:
    keep = loaded.index.mask(wanted, lambda text: _rows_with_reply(run, loaded, text))
    if wanted.differs:
        number, _, judge = wanted.differs.partition(":")
        other = run.companion(number).load()
        keep = keep & differing_calls(loaded.index, wanted.judge, other.index, judge)
    return keep & calls_behind(run.figure(wanted.figure), loaded.index) if wanted.figure else keep


def of_outcome(run: ViewedRun, loaded: LoadedRun, wanted: CallFilter) -> Mask:
    """Calls that ended as the filter wants, or that the numerator of its figure counts; else all."""
    chosen = loaded.index.outcomes.get(wanted.outcome)
    if wanted.outcome == COUNTED and wanted.figure:
        chosen = counted_calls(run.figure(wanted.figure), loaded.index)
    return np.ones(len(loaded.index.calls), dtype=np.bool_) if chosen is None else chosen


def passing_rows(run: ViewedRun, loaded: LoadedRun, wanted: CallFilter) -> list[int]:
    keep = passing(run, loaded, wanted) & of_outcome(run, loaded, wanted)
    rows: list[int] = sort_rows(run, loaded, np.flatnonzero(keep), wanted.sort).tolist()
    return rows


def _rows_with_reply(run: ViewedRun, loaded: LoadedRun, text: str) -> Ints:
    if text not in loaded.searches:
        with run.store() as store:
            keys = [] if store is None else store.keys_containing(text)
        if len(loaded.searches) >= REMEMBERED:
            loaded.searches.clear()
        loaded.searches[text] = loaded.rows(keys)
    return loaded.searches[text]


def _row(loaded: LoadedRun, row: int, seen: Observation) -> dict[str, object]:
    shown = seen.stimulus
    return {
        "id": loaded.index.ids[row],
        "judge": seen.judge,
        "protocol": seen.protocol,
        "probe": shown.probe,
        "kind": shown.kind,
        "stratum": shown.stratum,
        "stimulus": shown.id,
        "order": seen.order,
        "replicate": seen.replicate,
        "label": reference_label(shown.expectation),
        "verdict": answer_word(seen.verdict),
        "reason": reason_of(seen.verdict),
        "outcomes": " ".join(loaded.index.outcomes_of(row)),
    }


def _csv(run: ViewedRun, wanted: CallFilter) -> Response:
    loaded = run.load()
    rows = passing_rows(run, loaded, wanted)
    calls = zip(rows, loaded.index.observations_at(rows), strict=True)
    lines = _lines(_row(loaded, row, seen) for row, seen in calls)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8")


def _lines(rows: Iterator[dict[str, object]]) -> Iterator[str]:
    """The table in parts of many lines: a part for each would cost more than its making."""
    head = True
    while part := list(islice(rows, PART)):
        yield "".join(csv_lines(list(part[0]) if head else (), (list(row.values()) for row in part)))
        head = False


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table as CSV in which no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    if header:
        writer.writerow(header)
    writer.writerows(
        [escape_formula(cell, joined=True) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return [out.getvalue()]


def _json(run: ViewedRun, wanted: CallFilter) -> Response:
    loaded = run.load()
    rows = passing_rows(run, loaded, wanted)

    def parts() -> Iterator[str]:
        yield "["
        for start in range(0, len(rows), PART):
            calls = details(run, loaded, rows[start : start + PART], explained=False)
            yield (",\n" if start else "") + ",\n".join(json.dumps(each.to_json()) for each in calls)
        yield "]\n"

    return StreamingResponse(parts(), media_type="application/json")


def _datasheet(run: ViewedRun, _: CallFilter) -> Response:
    if run.sheet is None:
        raise ConfigError(f"{run.path}: there is no datasheet yet.")
    return Response(dumps(run.sheet), media_type="application/json")


FILES: dict[str, Callable[[ViewedRun, CallFilter], Response]] = {
    "calls.csv": _csv,
    "calls.json": _json,
    "datasheet.json": _datasheet,
}


def figure_sentence(figure: Estimate, behind: int) -> tuple[str, str]:
    """Name of a figure, and its value with how many of the calls behind it are listed."""
    place = f"of {figure.judge}, {probe_title(figure.probe)} ({numbers.condition(figure.group)})"
    if not numbers.defined(figure):
        value = f"{numbers.value(figure)}, {numbers.reason(figure)}"
    else:
        counts = numbers.counts(figure)
        value = f"{numbers.value(figure)} {numbers.interval(figure)}{', ' if counts else ''}{counts}"
    return capital(metric_named(figure.metric).name), f"{place}: {value}. {_listed(figure, behind)}"


@dataclass(frozen=True)
class RemediedCalls:
    """A figure with a remedy, and the answer that the remedy makes of each call behind it."""

    sentence: str
    answers: Mapping[int, str]
    """By row; none for a call that the remedy has no answer for."""


def remedied_calls(run: ViewedRun, loaded: LoadedRun, figure: Estimate, remedy: str) -> RemediedCalls:
    calls = loaded.index.calls
    mine = np.flatnonzero(calls.judge == calls.judges.index(figure.judge))
    seen = calls.take(mine)
    known = {each.id: each for each in remedies(seen)}
    with_it = [each for each in (run.sheet.remedies if run.sheet else ()) if each.judge == figure.judge]
    mitigated = next((each for each in with_it if each.remedy == remedy), None)
    group = {**figure.group, "remedy": remedy}
    figures = (each.estimate for each in (mitigated.figures if mitigated else ()))
    wanted = (figure.probe, figure.metric, group)
    found = next((e for e in figures if (e.probe, e.metric, dict(e.group)) == wanted), None)
    if remedy not in known or mitigated is None or found is None:
        raise NotFoundError("That remedy is on no datasheet here: go back to the datasheet.")
    made = known[remedy].derive(seen, spread=True)
    words = [answer_word(made.verdicts[verdict]) for verdict in made.verdict.tolist()]
    said = dict(zip(_places(made), words, strict=True))
    answers = {
        row: said[place] for row, place in zip(mine.tolist(), _places(seen), strict=True) if place in said
    }
    counted = numbers.counts(found)
    value = f"{numbers.figure(found)}{', ' if counted else ''}{counted}"
    return RemediedCalls(
        f"With the remedy “{mitigated.title}”: {value}. It is counted from the answers “with the remedy”, "
        "which the calls listed here make together.",
        answers,
    )


def _places(calls: Observations) -> Iterator[tuple[int, int, int]]:
    """Stimulus, order and repeat of each call."""
    return zip(calls.stimulus.tolist(), calls.order.tolist(), calls.replicate.tolist(), strict=True)


def _listed(figure: Estimate, behind: int) -> str:
    if figure.n_calls == behind:
        return f"Counted from {pluralize(behind, 'call')}, listed here."
    if figure.unit == "input":
        inputs = pluralize(figure.denominator or figure.n_calls, "input")
        return f"Counted from {inputs} that several judges answered; their calls are among those listed."
    if figure.n_calls:
        return (
            f"Counted from {pluralize(figure.n_calls, 'call')}; its probe and condition name "
            f"{pluralize(behind, 'call')}, and which of them count is not told."
        )
    return f"No call counts; {pluralize(behind, 'call')} {plural(behind, 'was', 'were')} made for it."


STEPS = (0.1, 0.25, 0.5, 0.75)
"""Shares from which on a tile is a step darker: few, so that each is told from the next."""


@dataclass(frozen=True)
class Tile:
    wrong: int
    held: int
    """Calls with a verdict that is held against a reference."""
    calls: int

    @property
    def share(self) -> float | None:
        return self.wrong / self.held if self.held else None

    @property
    def depth(self) -> int:
        return 0 if self.share is None else sum(self.share >= step for step in STEPS)


@dataclass(frozen=True)
class AccuracyMap:
    judges: tuple[str, ...]
    """Those with the fewest wrong calls first, baselines last."""
    probes: tuple[str, ...]
    tiles: Mapping[tuple[str, str], Tile]
    baselines: frozenset[str] = frozenset()


def accuracy_map(index: CallIndex) -> AccuracyMap:
    answers = index.answers
    tiles: dict[tuple[str, str], Tile] = {}
    for judge in index.judges:
        for probe in index.probes:
            keep = index.mask(CallFilter(judge=judge, probe=probe))
            if keep.any():
                wrong, held = int(np.sum(answers.wrong & keep)), int(np.sum(answers.has_reference & keep))
                tiles[judge, probe] = Tile(wrong, held, int(keep.sum()))
    probes = tuple(probe for probe in index.probes if any(place[1] == probe for place in tiles))
    baselines = frozenset(judge for judge in index.judges if index.is_baseline(judge))

    def shares(judge: str) -> tuple[bool, list[float]]:
        mine = (tiles.get((judge, probe)) for probe in probes)
        return judge in baselines, [each.share or 0.0 for each in mine if each is not None]

    return AccuracyMap(tuple(sorted(index.judges, key=shares)), probes, tiles, baselines)
