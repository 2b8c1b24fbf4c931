"""Ratings in an Inspect log: the first value of a score is the scorer's, an edit the person's who made it.

A scorer is a judge where its name says that a model grades, where Steelyard exported it, or where the caller
names it; the kind of any other is not said. An epoch runs the system again: another item of the same task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.importing.inspect_scores import SampleRow, SampleScore
from steelyard.importing.rating_reader import parse_value
from steelyard.importing.ratings import HUMAN, JUDGE, Rating, RatingColumns, RatingsTable
from steelyard.tasks.sources.cells import is_missing, plain_text
from steelyard.tasks.sources.inspect_log import open_log

GRADED = "model_graded"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": None}
"""Grades of Inspect's scorers; N, no answer, is no grade."""
MAPPED = ("task", "stratum", "system")
"""Parts that `--columns` may take from a sample's metadata."""


def inspect_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    for part in how.columns:
        if part not in MAPPED:
            raise ConfigError(
                f"{path}: --columns {part}=… found, expected task, stratum or system for an Inspect log, "
                "each a key of the samples' metadata; remove the others."
            )
    log = open_log(path)
    samples = log.samples or []
    several = any(sample.epoch != 1 for sample in samples)
    left: Counter[str] = Counter()
    found: list[Rating] = []
    for sample in samples:
        found += _sample_ratings(path, sample, str(log.eval.model), several, how, left)
    if not found:
        names = ", ".join(map(repr, left)) or "none"
        raise DataError(
            f"{path}: the log does not say whether models or code gave the scores {names}; name those of "
            "judges with --judge."
        )
    remarks = tuple(
        f"{pluralize(count, 'score')} of {name!r} left out: --judge does not name it."
        for name, count in left.items()
    )
    return RatingsTable(str(path), tuple(found), remarks)


def _sample_ratings(
    path: Path, sample: Any, model: str, several: bool, how: RatingColumns, left: Counter[str]
) -> Iterator[Rating]:
    row = SampleRow.of(sample)
    metadata = sample.metadata or {}
    for key in how.columns.values():
        if key not in metadata:
            known = ", ".join(map(repr, list(metadata)[:12])) or "none"
            raise DataError(
                f"{path}, {row.where}: no metadata {key!r}, expected one of {known}; correct --columns."
            )
    mapped = {part: _text(metadata[key]) for part, key in how.columns.items()}
    about = {"item": row.sample + (f"/{row.epoch}" if several else ""), "task": row.sample, "system": model}
    for score in row.scores:
        judge = str(score.call["judge"])
        if not _is_judge(score, judge, how):
            left[judge] += 1
            continue
        shared: dict[str, Any] = {**about, **mapped, "criterion": score.scorer}
        where = f"{path}, {row.where}"
        if score.verdict.author is None:
            value = _value(score.verdict.value, where, judge, how)
            run = str(score.call.get("replicate", ""))
            yield Rating(rater=judge, kind=JUDGE, value=value, run=run, **shared)
        if score.reference is not None:
            value = _value(score.reference.value, where, judge, how)
            if value is not None:
                yield Rating(rater=score.reference.author or "people", kind=HUMAN, value=value, **shared)


def _is_judge(score: SampleScore, judge: str, how: RatingColumns) -> bool:
    """Named by the caller; without names, graded by a model as the scorer or the export says."""
    if how.judges:
        return bool({judge, score.scorer} & set(how.judges))
    return score.scorer.startswith(GRADED) or "protocol" in score.call


def _value(cell: Any, where: str, column: str, how: RatingColumns) -> float | None:
    if isinstance(cell, str) and cell.strip() in LETTERS and cell.strip().lower() not in how.values:
        return LETTERS[cell.strip()]
    return parse_value(cell, where, column, how.values, compared=False)


def _text(cell: Any) -> str:
    return "" if is_missing(cell) else plain_text(cell).strip()
