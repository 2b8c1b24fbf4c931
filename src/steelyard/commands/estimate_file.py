"""`estimate.json` in a run folder: written by `estimate`, read by `gate` as one more figure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.commands.estimate import SCHEMA, EstimateReport
from steelyard.core.text import percent
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError
from steelyard.estimation.frame import CONFIDENCE
from steelyard.estimation.metrics import CORRECTED_PASS_RATE, CORRECTED_SCORE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.run_folder.run_folder import LINES
from steelyard.stimuli.original import ORIGINAL

NAME = "estimate.json"


def estimate_json(report: EstimateReport, folder: Path | None = None) -> str:
    """The report as JSON; of a run folder with the hash of the results that it was made of."""
    body = report.to_json() | ({} if folder is None else {"results": _results_hash(folder)})
    return json.dumps(body, indent=1) + "\n"


def with_estimate(sheet: Datasheet, folder: Path) -> Datasheet:
    """The datasheet with the corrected figure of its folder, where there is one."""
    path = folder / NAME
    if not path.exists():
        return sheet
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
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
    if body.get("results") != _results_hash(folder):
        raise ConfigError(
            f"{path}: made of other results than the folder holds; run `steelyard estimate` again."
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


def _results_hash(folder: Path) -> str:
    return f"sha256:{hashlib.sha256((folder / LINES).read_bytes()).hexdigest()}"
