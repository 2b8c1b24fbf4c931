"""Trials and observations of a folder for other tools, as JSON lines or Parquet: every call, with its words.

Observations are what was read, a row for each call and each verdict that calls make together; trials are what
was sent and what came back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.commands.call_index import CallCounts
from steelyard.commands.viewed_run import CallDetail, LoadedRun, ViewedRun, details
from steelyard.core.files import atomic_write, atomic_write_text, write_error
from steelyard.datasheet.results import Results
from steelyard.errors import ConfigError
from steelyard.run_folder.publication import kept_columns
from steelyard.run_folder.published_files import parquet_missing, valid_text, write_parquet, write_xlsx
from steelyard.run_folder.run_folder import RunFolder

JSONL, PARQUET, XLSX = "jsonl", "parquet", "xlsx"
CHUNK = 500
"""Trials that are read at a time: prompts of agents' runs are long."""


TRIAL_COLUMNS = {
    **dict.fromkeys(("judge", "id", "protocol", "order"), "text"),
    "replicate": "whole",
    **dict.fromkeys(("verdict", "reason"), "text"),
    "messages": "messages",
    **dict.fromkeys(("decoding", "reply", "finish", "served_model"), "text"),
    **dict.fromkeys(("input_tokens", "output_tokens"), "whole"),
    "latency_ms": "real",
    "attempts": "whole",
    "received": "real",
    "failures": "failures",
    "dollars": "real",
}


class ExportedTable(NamedTuple):
    path: Path
    calls: CallCounts


def export_tables(folder: Path, out: Path, form: str = JSONL) -> list[ExportedTable]:
    if form == PARQUET and (missing := parquet_missing()) is not None:
        raise ConfigError(f"--parquet: {missing}.")
    run = ViewedRun(folder)
    loaded = run.load()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(out, error) from error
    written = [_observations(folder, loaded, out / f"observations.{form}", form)]
    if loaded.plan is not None and form != XLSX:
        written.append(_trials(run, loaded, out / f"trials.{form}", form))
    return written


def _observations(folder: Path, loaded: LoadedRun, path: Path, form: str) -> ExportedTable:
    judges = () if loaded.plan is None else loaded.plan.study.judges
    results = Results(
        loaded.index.calls,
        loaded.index.run_calls.baselines,
        {judge.name for judge in judges if judge.composition is not None},
        kept_columns(RunFolder(folder)),
    )
    if form == XLSX:
        write_xlsx(path, results)
    elif form == PARQUET:
        write_parquet(path, results)
    else:
        atomic_write_text(path, results.jsonl())
    return ExportedTable(path, loaded.index.count(np.ones(len(results), dtype=np.bool_)))


def _trials(run: ViewedRun, loaded: LoadedRun, path: Path, form: str) -> ExportedTable:
    """Calls that were really made; a verdict that others make is an observation, and no trial."""
    asked = loaded.index.baselines_last(loaded.call_rows).tolist()
    parts = (
        [_row(detail) for detail in details(run, loaded, asked[start : start + CHUNK], explained=False)]
        for start in range(0, len(asked), CHUNK)
    )
    if form == PARQUET:
        _write_rows(path, parts)
    else:
        atomic_write_text(path, ("".join(f"{json.dumps(row)}\n" for row in part) for part in parts))
    return ExportedTable(path, loaded.index.count(np.isin(np.arange(len(loaded.index.calls)), asked)))


def _row(detail: CallDetail) -> dict[str, Any]:
    seen, stored = detail.observation, detail.stored
    answered = None if stored is None else stored.reply
    reply = None if answered is None else answered.reply
    return {
        "judge": seen.judge,
        "id": seen.stimulus.id,
        "protocol": seen.protocol,
        "order": seen.order if len(seen.stimulus.texts) == 2 else None,
        "replicate": seen.replicate,
        "verdict": detail.verdict,
        "reason": detail.reason,
        "messages": [] if stored is None else [{"role": r, "content": t} for r, t in stored.messages],
        "decoding": None if stored is None else json.dumps(stored.decoding, sort_keys=True),
        "reply": None if reply is None else reply.text,
        "finish": None if reply is None else reply.finish,
        "served_model": None if reply is None else reply.served_model,
        "input_tokens": None if reply is None else reply.usage.input_tokens,
        "output_tokens": None if reply is None else reply.usage.output_tokens,
        "latency_ms": None if reply is None or reply.usage.batched else reply.latency_ms,
        "attempts": None if answered is None else answered.attempts,
        "received": None if answered is None else answered.received,
        "failures": [] if stored is None else [vars(failure) for failure in stored.failures],
        "dollars": detail.dollars,
    }


def _write_rows(path: Path, parts: Iterable[list[dict[str, Any]]]) -> None:
    """Rows as Parquet, a row group for each part; by way of JSON, since a plain list loads pandas."""
    import pyarrow
    from pyarrow import json as arrow_json
    from pyarrow import parquet

    text, whole, real = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    message = pyarrow.list_(pyarrow.struct([("role", text), ("content", text)]))
    failure = pyarrow.list_(pyarrow.struct([("reason", text), ("message", text), ("attempts", whole)]))
    kinds = {"text": text, "whole": whole, "real": real, "messages": message, "failures": failure}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in TRIAL_COLUMNS.items()])
    with atomic_write(path) as beside, parquet.ParquetWriter(beside, schema) as writer:
        for part in parts:
            lines = "".join(f"{json.dumps(_valid_text(row))}\n" for row in part).encode()
            table = arrow_json.read_json(
                pyarrow.BufferReader(lines),
                arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
                arrow_json.ParseOptions(explicit_schema=schema),
            )
            writer.write_table(table.select(schema.names))


def _valid_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _valid_text(inner) for key, inner in value.items()}
    return [_valid_text(inner) for inner in value] if isinstance(value, list) else valid_text(value)
