"""The results of a folder, item by item: CSV, JSON lines, and Parquet where pyarrow is installed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from steelyard.datasheet.results import Results
from steelyard.lab.folder.whole_file import whole_file, write_text

CSV, LINES, PARQUET = RESULTS = ("results.csv", "results.jsonl", "results.parquet")
"""Files of a run item by item."""
ROWS = 200_000
"""Rows of a row group."""
_TYPES = {"baseline": "bool_", "right": "bool_", "replicate": "int64"}
"""Columns that hold no text, and what they hold."""


def write_results(folder: Path, results: Results) -> None:
    """Every call in every format; each file is whole or not there."""
    write_text(folder / CSV, results.csv())
    write_text(folder / LINES, results.jsonl())
    if parquet_missing() is None:
        _write_parquet(folder / PARQUET, results)
    else:
        with suppress(OSError):
            (folder / PARQUET).unlink(missing_ok=True)  # one of an earlier sitting would hold other calls


def remove_results(folder: Path) -> None:
    """Take away what may lie there."""
    for name in RESULTS:
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def parquet_missing() -> str | None:
    """Why no Parquet is written; None where it is. A damaged installation must not cost a run its end."""
    try:
        import pyarrow.parquet  # noqa: F401
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError)
        return "pyarrow is not installed" if absent else f"pyarrow cannot be loaded ({error})"
    return None


def _write_parquet(path: Path, results: Results) -> None:
    import pyarrow
    from pyarrow import parquet

    kinds = {name: getattr(pyarrow, _TYPES.get(name, "string"))() for name in results.columns}
    schema = pyarrow.schema(list(kinds.items()))
    columns = [
        (pyarrow.array([_sound(value) for value in column.values], type=kinds[name]), column.codes)
        for name, column in results.columns.items()
    ]
    with whole_file(path) as beside, parquet.ParquetWriter(beside, schema) as writer:
        for start in range(0, len(results), ROWS):
            arrays = [values.take(pyarrow.array(codes[start : start + ROWS])) for values, codes in columns]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _sound(value: object) -> object:
    """Text that UTF-8 can spell."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
