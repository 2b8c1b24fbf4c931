"""`datasheet.json` read back: strict about what is needed, patient with keys that later versions add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.datasheet.datasheet import SCHEMA, Datasheet, JudgeEntry
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, Interval


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Interval(_Body):
    method: str
    low: float | None
    high: float | None
    level: float = 0.95


class _Estimate(_Body):
    judge: str
    probe: str
    metric: str
    group: dict[str, str | float]
    unit: str
    value: float | None
    numerator: int | None = None
    denominator: int | None = None
    intervals: list[_Interval] = Field(default_factory=list)
    n_calls: int = 0
    n_units: int = 0
    n_clusters: int = 0
    design_effect: float | None = None
    excluded: dict[str, int] = Field(default_factory=dict)
    bounds: tuple[float, float] | None = Field(default=None, strict=False)
    censored: str | None = None
    note: str | None = None

    def estimate(self) -> Estimate:
        """The estimate that was written."""
        body: dict[str, Any] = dict(self)
        intervals = tuple(Interval(i.method, i.low, i.high, i.level) for i in self.intervals)
        return Estimate(**{**body, "intervals": intervals})


class _Judge(_Body):
    name: str
    model: str
    baseline: bool
    protocols: dict[str, str]


class _Study(_Body):
    name: str
    seed: int
    stimulus_set: str
    version: str
    profile: str = ""


class _Asked(_Body):
    asked: int
    planned: int


class _Run(_Body):
    model_config = ConfigDict(extra="allow")
    partial: bool = False
    asked: int = 0
    planned: int = 0
    unfinished: dict[str, _Asked] = Field(default_factory=dict)


class _Sheet(_Body):
    schema_name: str = Field(alias="schema")
    study: _Study
    judges: list[_Judge]
    estimates: list[_Estimate]
    run: _Run = Field(default_factory=lambda: _Run())


def read_datasheet(folder: Path) -> Datasheet:
    """The datasheet of a run folder or an import, as it was published."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder, expected one that `measure` or `import` wrote.")
    path = folder / "datasheet.json"
    if not path.exists():
        raise ConfigError(
            f"{folder}: no datasheet.json found, expected a folder that `measure` or `import` wrote."
        )
    try:
        sheet = _Sheet.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if sheet.schema_name != SCHEMA:
        raise ConfigError(
            f"{path}: found schema {sheet.schema_name!r}, expected {SCHEMA!r}; "
            "write it again with `steelyard report`."
        )
    return Datasheet(
        name=sheet.study.name,
        seed=sheet.study.seed,
        stimulus_set=sheet.study.stimulus_set,
        version=sheet.study.version,
        profile=sheet.study.profile,
        judges=tuple(JudgeEntry(j.name, j.model, j.baseline, j.protocols) for j in sheet.judges),
        estimates=tuple(row.estimate() for row in sheet.estimates),
        run=sheet.run.model_dump(),
    )


def _damaged(path: Path, error: Exception) -> ConfigError:
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        told = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    else:
        told = str(error).splitlines()[0]
    return ConfigError(f"{path}: not a datasheet ({told}); write it again with `steelyard report`.")
