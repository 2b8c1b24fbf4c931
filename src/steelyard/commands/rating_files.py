"""Files and run folders as one table of ratings, and what such a table supports."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.importing.rating_exports import read_export
from steelyard.importing.ratings import (
    CODE,
    HUMAN,
    JUDGE,
    Rating,
    RatingColumns,
    RatingsTable,
    label_ratings,
    read_ratings,
)
from steelyard.providers.provider_info import DoctorCheck
from steelyard.run_folder.published_files import LINES
from steelyard.stimuli.original import ORIGINAL
from steelyard.tasks.sources.read import read_table

LABEL = "label"
"""Rater of the labels that a run's data came with; people, where the caller says so."""


def load_ratings(path: Path, how: RatingColumns, labels: Path | None = None) -> RatingsTable:
    table = _run_ratings(path, how) if path.is_dir() else _file_ratings(path, how)
    return table if labels is None else table.joined(label_ratings(labels, replace(how, where={})))


def _file_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    is_json = path.suffix.lower() in (".json", ".jsonl", ".ndjson")
    return (read_export(path, how) if is_json else None) or read_ratings(path, how)


def _run_ratings(folder: Path, how: RatingColumns) -> RatingsTable:
    """Verdicts on items as they are, under the base protocol; the data's labels where people gave them."""
    file = folder / LINES
    if not file.exists():
        raise ConfigError(
            f"{folder}: no {LINES} found, expected a run folder or a file of ratings; run `steelyard "
            "report` on the folder, or name a file."
        )
    people = [name for name in how.people if name != LABEL]
    if people:
        raise ConfigError(
            f"{folder}: no people {people[0]!r} in a run folder, expected {LABEL!r}, the labels of its "
            f"data; say --people {LABEL}, or give others with --labels FILE."
        )
    ratings: dict[tuple[str, ...], Rating] = {}
    for record in read_table(file).records:
        row = record.values
        if row["kind"] != ORIGINAL or row["baseline"] or row["protocol"] != "base":
            continue
        item, verdict = str(row["item"]), str(row["verdict"])
        about: dict[str, Any] = {"task": str(row["task"]), "stratum": str(row["stratum"])}
        value = float(verdict) if verdict.lstrip("-").isdigit() else None
        run = str(row["replicate"])
        ratings[item, str(row["judge"]), run] = Rating(
            item, str(row["judge"]), JUDGE, value, run=run, **about
        )
        if how.people and row["label"] is not None:
            ratings[item, LABEL] = Rating(item, LABEL, HUMAN, float(row["label"]), **about)
    if not ratings:
        raise DataError(
            f"{folder}: no verdicts on single items as they are, expected a run of a scored task with data; "
            "name another folder."
        )
    return RatingsTable(str(folder), tuple(ratings.values()))


def rating_checks(table: RatingsTable) -> list[DoctorCheck]:
    """What `doctor FILE` says: what is in the file, and which claims it carries."""
    people, judges = table.raters(HUMAN), table.raters(JUDGE)
    items = {(rating.item, rating.system, rating.versus) for rating in table.ratings}
    votes: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    judged: set[tuple[str, str, str]] = set()
    for rating in table.ratings:
        key = rating.item, rating.system, rating.versus
        if rating.kind == HUMAN:
            votes[key].add(rating.rater)
        elif rating.kind == JUDGE and rating.value is not None:
            judged.add(key)
    both = len(judged & votes.keys())
    twice = sum(len(raters) > 1 for raters in votes.values())
    odds = all(rating.p_drawn is not None for rating in table.ratings)
    lost = sum(rating.value is None for rating in table.ratings)
    codes = table.raters(CODE)
    checks = [
        DoctorCheck(
            "ratings", "ok", f"{pluralize(len(table.ratings), 'rating')} of {pluralize(len(items), 'item')}"
        ),
        _raters("judges", judges),
        _raters("people", people),
    ]
    checks += [_raters("code", codes)] if codes else []
    if lost:
        checks.append(
            DoctorCheck("missing verdicts", "absent", f"{lost:,}; figures will have bounds for them")
        )
    checks.append(_correction(judges, people, both, odds=odds))
    systems = table.systems
    ranked = f"{pluralize(len(systems), 'system')}: `steelyard leaderboard`"
    unranked = (
        "fewer than two systems: a ranking is not possible; write a column system, or system_a and system_b"
    )
    checks.append(DoctorCheck("ranking", *(("ok", ranked) if len(systems) > 1 else ("absent", unranked))))
    shared = f"{pluralize(twice, 'item')} with several people: agreement among people is possible"
    alone = "no item with several people: agreement among people is not possible"
    checks.append(DoctorCheck("agreement", *(("ok", shared) if twice else ("absent", alone))))
    tasks = Counter(rating.task for rating in table.ratings)
    if len(tasks) == 1:
        said = "no column task: items are taken as independent"
        checks.append(DoctorCheck("tasks", "absent", said))
    return checks


def _raters(subject: str, raters: dict[str, int]) -> DoctorCheck:
    named = ", ".join(f"{name} ({count:,})" for name, count in list(raters.items())[:8])
    more = f" and {len(raters) - 8} more" if len(raters) > 8 else ""
    return DoctorCheck(subject, "ok" if raters else "absent", named + more if raters else "none")


def _correction(judges: dict[str, int], people: dict[str, int], both: int, *, odds: bool) -> DoctorCheck:
    if not people:
        text = "no human ratings: agreement and correction are not possible"
    elif not judges:
        text = "no judge's ratings: correction is not possible; labels alone are"
    elif not both:
        text = (
            "no item has both a verdict and a label: correction is possible only with labels from elsewhere"
        )
    else:
        design = "odds of the draw are recorded" if odds else "say how they were drawn with --design"
        return DoctorCheck("correction", "ok", f"{pluralize(both, 'item')} judged and labelled; {design}")
    return DoctorCheck("correction", "absent", text)
