"""Files and run folders as one table of ratings, and what such a table supports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.importing.rating_reader import label_ratings, read_ratings
from steelyard.importing.ratings import CODE, HUMAN, JUDGE, Categories, Rating, RatingColumns, RatingsTable
from steelyard.providers.provider_info import DoctorCheck
from steelyard.review.label_draw import DRAW_FILE, TEST, TUNE, FrameUnit, LabelDraw
from steelyard.review.labelling import LABEL_LOG, LABELLED, LabelSession
from steelyard.run_folder.run_folder import LINES, RunFolder
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.survey.options import AnyRatings, PeopleOptions
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import ends_of

LABEL = "label"
"""Rater of the labels that a run's data came with; people, where the caller says so."""


def columns_of(options: AnyRatings) -> RatingColumns:
    how = options.reading
    words = isinstance(options, PeopleOptions) and options.level == "nominal"
    return RatingColumns.parse(
        how.columns, options.judges, options.people, how.values, how.where, nominal=words
    )


def load_ratings(
    path: Path,
    how: RatingColumns,
    labels: Path | None = None,
    label_columns: Mapping[str, str] | None = None,
    *,
    pilot: bool = False,
) -> RatingsTable:
    """The ratings of a file or run, with labels of another file or of a draw; see `drawn_ratings`."""
    if label_columns and (labels is None or labels.is_dir()):
        raise ConfigError("--label-columns: works only with --labels FILE; name the file, or leave it out.")
    how = replace(how, finds_people=labels is None)
    table = _run_ratings(path, how) if path.is_dir() else read_ratings(path, how)
    if isinstance(how.values, Categories):
        table = replace(table, words=how.values.words)
    if labels is not None and (pilot or labels.is_dir()):
        return drawn_ratings(table, labels, pilot=pilot)
    return table if labels is None else table.joined(label_ratings(labels, how, label_columns))


def _run_ratings(folder: Path, how: RatingColumns) -> RatingsTable:
    """Verdicts on items as they are, under the base protocol; the data's labels where people gave them."""
    RunFolder(folder).check_format()
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
    return RatingsTable(str(folder), tuple(ratings.values()), scale=_run_scale(RunFolder(folder)))


def _run_scale(folder: RunFolder) -> tuple[float, float] | None:
    """Ends of the scale that all items of a run share."""
    if not folder.stimuli.exists():
        return None
    scales = {each.scale or "" for each in StimulusSet.read(folder.stimuli) if each.kind == ORIGINAL}
    scale = scales.pop() if len(scales) == 1 else ""
    return ends_of(scale) if scale else None


CONTENT_VALUES = {"u": 1.0, "v": 0.0, "tie": 0.5}
"""Win of the first system; labels of pairs are kept as contents."""


def drawn_labels(session: LabelSession) -> dict[str, dict[str, float]]:
    """Labels by name of the item on the pages, then by annotator."""
    return {
        name: {
            who: CONTENT_VALUES[vote.label] if vote.label in CONTENT_VALUES else float(vote.label or "nan")
            for who, vote in group.items()
            if vote.decision == LABELLED
        }
        for name, group in session.votes_in_force().items()
    }


def drawn_ratings(table: RatingsTable, folder: Path, *, pilot: bool = False) -> RatingsTable:
    """The judges' ratings with the odds and labels of a draw; labels of the file itself are left out.

    A pilot is read before its test part is opened, and its tuning labels count.
    """
    if not (folder / DRAW_FILE).exists() and not (folder / LABEL_LOG).exists():
        raise ConfigError(
            f"{folder}: neither {DRAW_FILE} nor {LABEL_LOG} found, expected a folder that `steelyard labels "
            "draw` made or in which people labelled a run; name another."
        )
    with closing(LabelSession(folder)) as session:
        draw, opened = session.recorded, session.opened
        labels = {name: said for name, said in drawn_labels(session).items() if said}
        if draw is None:
            draw = _run_draw(session)
        elif not pilot and not any(unit.part == TEST for unit in draw.drawn.values()):
            raise DataError(
                f"{folder}: all {pluralize(len(draw.drawn), 'drawn item')} are for tuning, expected a test "
                "part for a figure; make another draw and name this one with --pilot."
            )
        elif not pilot and opened is None:
            raise ConfigError(
                f"{folder}: the test part is sealed, expected it open for a figure; label all of it, then "
                f"run `steelyard labels open {folder}`."
            )
    if pilot:
        labels = {name: said for name, said in labels.items() if draw.drawn[name].part != TEST or opened}
    remarks = list(table.remarks)
    own = sum(rating.kind == HUMAN for rating in table.ratings)
    if own:
        remarks.append(f"{pluralize(own, 'label')} of {table.name} left out: labels come from {folder}.")
    remarks += [] if pilot else _draw_remarks(table, draw, labels)
    rows = _drawn_rows(table, draw, labels, pilot)
    silent = any(unit.part == TEST and unit.key not in labels for unit in draw.drawn.values())
    stopped = silent and draw.stop is not None and not pilot
    scale = ends_of(draw.scale) if draw.scale else table.scale
    return RatingsTable(f"{table.name} and {folder}", rows, tuple(remarks), stopped, scale=scale)


def _drawn_rows(
    table: RatingsTable, draw: LabelDraw, labels: dict[str, dict[str, float]], pilot: bool
) -> tuple[Rating, ...]:
    units = {unit.id: unit for unit in draw.units}
    odds = draw.odds(labels)
    rows: list[Rating] = []
    voted: set[str] = set()
    for row in table.ratings:
        if row.kind == HUMAN or row.criterion != draw.criterion:
            continue
        unit = units.get((row.item, row.system, row.versus))
        if unit is None:
            raise DataError(
                f"{table.name}: item {row.item!r} was not in the frame when labels were drawn, so it has no "
                "odds; leave such items out with --where, or make another draw."
            )
        about: dict[str, Any] = {}
        if not pilot and unit.is_claimed and not odds[unit.level]:
            raise DataError(
                f"{table.name}: no item of level {unit.level!r} is labelled, expected some of every level "
                f"that the draw by {draw.design} has; label some of it."
            )
        if not pilot:
            about = {"p_drawn": odds[unit.level]} if unit.is_claimed else {"split": TUNE}
        rows.append(replace(row, **about))
        if unit.key and unit.key not in voted:
            voted.add(unit.key)
            about |= {"kind": HUMAN, "run": ""}
            rows += [
                replace(row, rater=who, value=value, **about)
                for who, value in labels.get(unit.key, {}).items()
            ]
    return tuple(rows)


def _draw_remarks(table: RatingsTable, draw: LabelDraw, labels: dict[str, dict[str, float]]) -> list[str]:
    here = {(row.item, row.system, row.versus) for row in table.ratings}
    test = [unit for unit in draw.drawn.values() if unit.part == TEST]
    said = []
    silent = sum(unit.key not in labels for unit in test)
    if silent:
        said.append(
            f"{silent:,} of {pluralize(len(test), 'drawn item')} have no label, and are taken as missing at "
            "random."
        )
    absent = sum(unit.id not in here for unit in draw.units if unit.is_claimed)
    if absent:
        said.append(
            f"{absent:,} of {pluralize(len(draw.units), 'item')} of the draw are not in {table.name}: the "
            "figure is about the others."
        )
    return said


def _run_draw(session: LabelSession) -> LabelDraw:
    """The draw that `review --label` made: at random of a run's items."""
    units = tuple(
        FrameUnit(parent, 0.0, "", part=TEST if name in session.draw.items else "", key=name)
        for name, parent in session.parents().items()
    )
    return LabelDraw(str(session.folder.path), "", "", "random", session.draw.seed, "", "", units)


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
    twice = sum(len(raters) > 1 for raters in votes.values())
    odds = all(rating.p_drawn is not None for rating in table.ratings)
    lost = sum(rating.value is None for rating in table.ratings)
    known = f"{pluralize(len(table.ratings), 'rating')} of {pluralize(len(items), 'item')}"
    found: list[tuple[str, bool, str]] = [("ratings", True, known)]
    for subject, raters in (("judges", judges), ("people", people), ("code", table.raters(CODE))):
        if raters or subject != "code":
            named = [f"{name} ({count:,})" for name, count in raters.items()]
            more = f" and {len(named) - 8} more" if len(named) > 8 else ""
            found.append((subject, bool(raters), ", ".join(named[:8]) + more or "none"))
    if lost:
        found.append(("missing verdicts", False, f"{lost:,}; figures will have bounds for them"))
    both = len(judged & votes.keys()) if judges and people else 0
    found.append(("correction", bool(both), _correction(judges, people, both, odds=odds)))
    ranked = f"{pluralize(len(table.systems), 'system')}: `steelyard leaderboard`"
    lacking = "fewer than two systems: a ranking is not possible; write a column system, or system_a and "
    several = len(table.systems) > 1
    found.append(("ranking", several, ranked if several else f"{lacking}system_b"))
    shared = f"{pluralize(twice, 'item') if twice else 'no item'} with several people"
    possible = "possible" if twice else "not possible"
    found.append(("agreement", bool(twice), f"{shared}: agreement among people is {possible}"))
    if len({rating.task for rating in table.ratings}) == 1:
        found.append(("tasks", False, "no column task: items are taken as independent"))
    return [DoctorCheck(subject, "ok" if is_there else "absent", text) for subject, is_there, text in found]


def _correction(judges: dict[str, int], people: dict[str, int], both: int, *, odds: bool) -> str:
    if not people:
        return "no human ratings: agreement and correction are not possible"
    if not judges:
        return "no judge's ratings: correction is not possible; labels alone are"
    if not both:
        lack = "no item has both a verdict and a label"
        return f"{lack}: correction is possible only with labels from elsewhere"
    design = "odds of the draw are recorded" if odds else "say how they were drawn with --design"
    return f"{pluralize(both, 'item')} judged and labelled; {design}"
