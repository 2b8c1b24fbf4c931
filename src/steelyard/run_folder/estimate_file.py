"""`estimate.json` in a run folder: `estimate` signs it, and `gate` takes its figure if nobody edited it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.files import signature
from steelyard.core.text import percent
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError, SteelyardError
from steelyard.estimation.designs import CORRECTED_PASS_RATE, CORRECTED_SCORE
from steelyard.estimation.frame import CONFIDENCE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.run_folder.run_folder import LINES
from steelyard.stimuli.original import ORIGINAL

SCHEMA = "steelyard.estimate/1"
NAME = "estimate.json"


def with_estimate(sheet: Datasheet, folder: Path, recorded: Callable[[], str]) -> Datasheet:
    """The datasheet with the corrected figure of its folder, where there is one.

    `recorded` is the hash of the results as the folder's replies have them.
    """
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


def origin(body: dict[str, Any], folder: Path) -> dict[str, str]:
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
