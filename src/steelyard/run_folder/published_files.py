"""Published files of a run folder: datasheet and results, each written in every format by an atomic write.

Its `estimate.json` is signed, and `gate` takes its figure if nobody edited it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.core.files import atomic_write, atomic_write_text, no_such, signature
from steelyard.core.foreign_code import import_problem
from steelyard.core.text import percent, pluralize
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import data_files
from steelyard.datasheet.results import Results
from steelyard.errors import ConfigError, SteelyardError
from steelyard.estimation.designs import CORRECTED_PASS_RATE, CORRECTED_SCORE
from steelyard.estimation.frame import CONFIDENCE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.faults import Faults
from steelyard.run_folder.run_folder import CSV, JSON, LINES, MARKDOWN, PAGE, PARQUET, RESULTS, SHEETS
from steelyard.stimuli.original import ORIGINAL

ESTIMATE, ESTIMATE_SCHEMA = "estimate.json", "steelyard.estimate/1"


def read_datasheet(folder: Path) -> Datasheet:
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: {no_such(folder, 'folder')}, expected one that `measure` or `import` wrote."
        )
    path = folder / JSON
    if not path.exists():
        raise ConfigError(
            f"{folder}: no datasheet.json found, expected a folder that `measure` or `import` wrote."
        )
    try:
        return concluded(Datasheet.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"{path}: not a datasheet ({reason}); write it again with `steelyard report`."
        ) from error


def write_datasheet(folder: Path, datasheet: Datasheet) -> Datasheet:
    """Write JSON, Markdown and one HTML page; the datasheet comes back with what could not be drawn."""
    # Imported here: readers of published files need no templates and no drawings.
    from steelyard.datasheet.render import html, markdown

    atomic_write_text(folder / JSON, data_files.dumps(datasheet))
    faults = Faults()
    for path, render in (
        (folder / MARKDOWN, partial(markdown.render, datasheet)),
        (folder / PAGE, partial(html.render, datasheet, faults)),
    ):
        text = faults.guarded("", path.name, render, lambda _: None)
        if text is None:
            path.unlink(missing_ok=True)  # one of an earlier run would show other figures
        else:
            atomic_write_text(path, text)
    if not faults.found:
        return datasheet
    datasheet = replace(datasheet, faults=(*datasheet.faults, *faults.found))
    atomic_write_text(folder / JSON, data_files.dumps(datasheet))
    return datasheet


ROWS = 10_000
"""Rows of Parquet that are encoded together."""
_TYPES = {"baseline": "bool_", "right": "bool_", "replicate": "int64", "confidence": "float64"}
"""Columns that hold no text, and what they hold."""


def write_results(folder: Path, results: Results) -> None:
    """Every call in every format; each file is whole or not there.

    Parquet is written beside the texts: pyarrow works on a core of its own.
    """

    def write_texts() -> None:
        atomic_write_text(folder / CSV, results.csv())
        atomic_write_text(folder / LINES, results.jsonl())

    if parquet_missing() is not None:
        with suppress(OSError):
            (folder / PARQUET).unlink(missing_ok=True)  # one of an earlier run would hold other calls
        write_texts()
        return
    _ = results.columns  # worked out once, before two threads ask for them
    with ThreadPoolExecutor(1) as beside:
        columns = beside.submit(write_parquet, folder / PARQUET, results)
        write_texts()
        columns.result()


def remove_published(folder: Path) -> None:
    for name in (*SHEETS, *RESULTS):
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def parquet_missing() -> str | None:
    """Why no Parquet is written; None where it is. A damaged installation must not cost a run its end."""
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except Exception as error:
        return f"pyarrow {import_problem('pyarrow', error)}"
    return None


def write_parquet(path: Path, results: Results) -> None:
    import pyarrow
    from pyarrow import parquet

    kinds = {name: getattr(pyarrow, _TYPES.get(name, "string"))() for name in results.columns}
    schema = pyarrow.schema(list(kinds.items()))
    columns = []
    for name, column in results.columns.items():
        known = {value: number for number, value in enumerate(dict.fromkeys(column.values))}
        places = np.array([known[value] for value in column.values], dtype=np.int64)
        columns.append((_array(list(known), kinds[name]), places, column.codes))
    with atomic_write(path) as beside, parquet.ParquetWriter(beside, schema) as writer:
        for start in range(0, len(results), ROWS):
            rows = slice(start, start + ROWS)
            arrays = [values.take(_numbers(places[codes[rows]])) for values, places, codes in columns]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))


MAX_SHEET_ROWS = 1_048_575
"""Rows of a sheet below its header."""


def write_xlsx(path: Path, results: Results) -> None:
    """The rows as the first sheet of a workbook; text stays text, whatever it begins with."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    except Exception as error:  # as above
        raise ConfigError(f"--xlsx: needs openpyxl, which {import_problem('openpyxl', error)}.") from error
    if len(results) > MAX_SHEET_ROWS:
        raise ConfigError(
            f"--xlsx: {pluralize(len(results), 'row')}, and a sheet holds {MAX_SHEET_ROWS:,}; use --parquet."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("results")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", valid_text(value))[:MAX_CELL])
        made.data_type = "s"  # else a text that begins with `=` would be a formula
        return made

    sheet.append(list(results.columns))
    columns = [(column.values, column.codes.tolist()) for column in results.columns.values()]
    for row in range(len(results)):
        sheet.append([cell(values[codes[row]]) for values, codes in columns])
    with atomic_write(path) as beside:
        book.save(beside)


MAX_CELL = 32_767
"""Characters that a cell of a sheet holds."""


def _array(values: Sequence[Any], kind: Any) -> Any:
    """The values as pyarrow's; from their bytes, since `pyarrow.array` of a list loads pandas where it is."""
    import pyarrow

    bits = _bits(value is not None for value in values)
    if kind == pyarrow.string():
        texts = [b"" if value is None else value.encode("utf-8", "backslashreplace") for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        buffers = [bits, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(texts))]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), len(values), buffers).cast(kind)
    if kind == pyarrow.bool_():
        buffers = [bits, _bits(map(bool, values))]
    else:
        dtype = np.float64 if kind == pyarrow.float64() else np.int64
        buffers = [bits, pyarrow.py_buffer(np.array([value or 0 for value in values], dtype=dtype))]
    return pyarrow.Array.from_buffers(kind, len(values), buffers)


def _bits(values: Iterable[bool]) -> Any:
    import pyarrow

    return pyarrow.py_buffer(np.packbits(np.array(list(values), dtype=np.bool_), bitorder="little"))


def _numbers(codes: Ints) -> Any:
    import pyarrow

    whole = np.ascontiguousarray(codes, dtype=np.int64)
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(whole), [None, pyarrow.py_buffer(whole)])


def valid_text(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def with_estimate(sheet: Datasheet, folder: Path, recorded: Callable[[], str]) -> Datasheet:
    """The datasheet with the corrected figure of its folder, where there is one.

    `recorded` is the hash of the results as the folder's replies have them.
    """
    path = folder / ESTIMATE
    if not path.exists():
        return sheet
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != ESTIMATE_SCHEMA:
            raise ValueError(f"schema {body['schema']!r}")
        level, row = float(body["corrected"]["level"]), _row(body)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigError(
            f"{path}: not an estimate that this version wrote ({error}); run `steelyard estimate` again."
        ) from error
    if level != CONFIDENCE:
        raise ConfigError(
            f"{path}: intervals at {percent(level)} found, expected {percent(CONFIDENCE)}, at which limits "
            "are checked; run `steelyard estimate` again without --confidence."
        )
    try:
        is_mine = body.get("signature") == _signature(body)
    except (OSError, SteelyardError) as error:
        raise ConfigError(
            f"{path}: nobody can tell whether it was edited, since the cache is not usable ({error}); set "
            "STEELYARD_CACHE to a folder of yours, and run `steelyard estimate` again."
        ) from error
    if not is_mine:
        raise ConfigError(
            f"{path}: not as you wrote it (it was edited, or is another user's); run `steelyard estimate` "
            "again."
        )
    if body.get("results") != results_hash((folder / LINES).read_bytes()):
        raise ConfigError(
            f"{path}: made of other results than the folder holds; run `steelyard estimate` again."
        )
    if body["results"] != recorded():
        raise ConfigError(
            f"{path}: made of results that are not those of the replies (another version wrote {LINES}, or "
            "it was edited); run `steelyard report`, then `steelyard estimate` again."
        )
    return replace(sheet, estimates=(*sheet.estimates, row))


def _row(body: dict[str, Any]) -> Estimate:
    figure = body["corrected"]
    share = body["quantity"] == "share"
    return Estimate(
        judge=body["judge"],
        probe=ORIGINAL,
        metric=(CORRECTED_PASS_RATE if share else CORRECTED_SCORE).id,
        group={"protocol": "base"},
        unit="item",
        value=float(figure["value"]),
        intervals=(Interval(figure["method"], figure["low"], figure["high"]),),
        n_calls=int(body["items"]),
        n_units=int(body["labels"]),
        n_clusters=int(body["tasks"]),
        excluded={"unreadable": int(body["missing_verdicts"]), "failed": 0},
        bounds=None if body["bounds"] is None else (body["bounds"][0], body["bounds"][1]),
    )


def estimate_origin(body: dict[str, Any], folder: Path) -> dict[str, str]:
    """What `gate` checks before it takes the figure: the results behind it, and that nobody edited it."""
    made = {"results": results_hash((folder / LINES).read_bytes())}
    with suppress(OSError, SteelyardError):  # without a usable cache `gate` refuses it, and says why
        made["signature"] = _signature(json.loads(json.dumps(body | made)))
    return made


def _signature(body: dict[str, Any]) -> str:
    """Of an estimate as its file has it, by this user."""
    return signature(["estimate", {name: value for name, value in body.items() if name != "signature"}])


def results_hash(lines: bytes) -> str:
    return f"sha256:{hashlib.sha256(lines).hexdigest()}"
