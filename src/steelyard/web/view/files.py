"""Downloads: calls that pass a filter as CSV or JSON, and the datasheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from starlette.responses import Response, StreamingResponse

from steelyard.commands.view.call_index import COUNTED, CallFilter, differing_calls
from steelyard.commands.view.call_order import sort_rows
from steelyard.commands.view.figure_calls import calls_behind, counted_calls
from steelyard.commands.view.viewed_run import LoadedRun, ViewedRun, details
from steelyard.core.arrays import Ints, Mask
from steelyard.datasheet.render.json import dumps
from steelyard.datasheet.words.text import escape_formula
from steelyard.errors import ConfigError
from steelyard.stimuli.expectation import reference_label
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation

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
    lines = (
        _row(loaded, row, seen) for row, seen in zip(rows, loaded.index.observations_at(rows), strict=True)
    )
    return StreamingResponse(_lines(lines), media_type="text/csv; charset=utf-8")


def _lines(rows: Iterator[dict[str, object]]) -> Iterator[str]:
    """The table in parts of many lines: a part for each would cost more than its making."""
    head = True
    while part := list(islice(rows, PART)):
        out = io.StringIO()
        writer = csv.DictWriter(out, list(part[0]))
        if head:
            writer.writeheader()
        writer.writerows(
            {key: escape_formula(v, joined=True) if isinstance(v, str) else v for key, v in row.items()}
            for row in part
        )
        head = False
        yield out.getvalue()


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


def _datasheet(run: ViewedRun, wanted: CallFilter) -> Response:
    del wanted
    sheet = run.sheet
    if sheet is None:
        raise ConfigError(f"{run.path}: there is no datasheet yet.")
    return Response(dumps(sheet), media_type="application/json")


FILES: dict[str, Callable[[ViewedRun, CallFilter], Response]] = {
    "calls.csv": _csv,
    "calls.json": _json,
    "datasheet.json": _datasheet,
}
