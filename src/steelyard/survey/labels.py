"""`labels add` and `labels open`: labels come back from sheets, and the test part opens once."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from steelyard.core.text import escape_formula, pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.importing.ratings import HUMAN, KINDS
from steelyard.metrics.stats.intervals import Span
from steelyard.review.label_draw import DRAW_FILE, TEST, TUNE, LabelDraw
from steelyard.review.labelling import LABELLED, LabelSession
from steelyard.store.review_log import Choice, Vote
from steelyard.survey.rating_files import drawn_labels
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import Table, TableRecord, is_missing, normal, plain_text
from steelyard.tasks.task import BINARY_WORDS

SHEET = "sheet.csv"
PEOPLE = "people"
"""Annotator of a sheet that names none."""


@dataclass(frozen=True)
class SheetLabel:
    key: str
    annotator: str
    answer: str
    note: str


@dataclass(frozen=True)
class LabelProgress:
    """How far labelling is; of the sealed part only counts are told."""

    tune: tuple[int, int]
    """Items labelled, and drawn."""
    test: tuple[int, int]
    by_annotator: dict[str, tuple[int, int]]
    opened: str | None
    agreement: str | None
    stop: float | None = None
    limits: Span | None = None
    """Limits at every look of what people would say, where a rule to stop was declared."""

    @property
    def suffices(self) -> bool:
        """The declared rule is met: more labels are not needed."""
        if self.stop is None or self.limits is None:
            return False
        return (self.limits[1] - self.limits[0]) / 2 <= self.stop

    def to_json(self) -> dict[str, object]:
        return {"schema": "steelyard.labels/1", **vars(self), "suffices": self.suffices}


def open_session(folder: Path) -> closing[LabelSession]:
    if not (folder / DRAW_FILE).exists():
        LabelDraw.read(folder)
    return closing(LabelSession(folder))


def add_sheets(folder: Path, sheets: Sequence[Path], *, replace: bool = False) -> tuple[int, int, int]:
    """Keep the labels of sheets; labels that are new, known already, and empty rows.

    All of them are kept, or none; meanwhile nobody else labels or opens.
    """
    with open_session(folder) as session:
        rows: dict[tuple[str, str], tuple[SheetLabel, str]] = {}
        empty = 0
        for path in sheets:
            table = read_table(path)
            for column in ("key", "label"):
                table.require(column, f"the {column} of a sheet")
            for record in table.records:
                label = _label(session, table, record)
                if label is None:
                    empty += 1
                    continue
                where = f"{table.name}, {record.where}"
                if (label.key, label.annotator) in rows:
                    raise DataError(
                        f"{where}: {label.annotator} labelled {label.key!r} twice, also in "
                        f"{rows[label.key, label.annotator][1]}, expected once; remove one."
                    )
                rows[label.key, label.annotator] = label, where
        with session.log.transaction():
            session.refuse_opened()
            said = session.votes_in_force()
            fresh = [
                label
                for label, where in rows.values()
                if _is_fresh(session, said.get(label.key, {}), label, where, replace=replace)
            ]
            for label in fresh:
                session.label(label.key, label.annotator, label.answer, label.note)
        session.write()
    return len(fresh), len(rows) - len(fresh), empty


def _text(record: TableRecord, column: str) -> str:
    cell = record.values.get(column)
    return "" if is_missing(cell) else plain_text(cell).strip()


def _label(session: LabelSession, table: Table, record: TableRecord) -> SheetLabel | None:
    """What a row says; None where its label is empty."""
    where, key = f"{table.name}, {record.where}", _text(record, "key")
    if not key and not _text(record, "label"):  # spreadsheets leave blank rows behind
        return None
    item = session.item(key)
    if item is None:
        raise DataError(
            f"{where}: no item {key!r} in this draw, expected the keys of its own sheets; name the sheet of "
            "this draw."
        )
    kind = _text(record, "kind")
    if kind and KINDS.get(normal(kind)) != HUMAN:
        raise DataError(
            f"{where}: label of kind {kind!r} found, expected human; labels by a model are no labels by "
            "people: leave them out, or give them to `estimate` as a judge."
        )
    if not _text(record, "label"):
        return None
    annotator = _text(record, "annotator") or PEOPLE
    assert session.recorded is not None
    named = session.recorded.drawn[key].annotators
    if named and annotator not in named:
        raise DataError(
            f"{where}: {key!r} is not for {annotator!r} to label, expected {' or '.join(named)}; correct the "
            "annotator."
        )
    word, answers = normal(_text(record, "label")), session.answers(item)
    word = word if word in answers else BINARY_WORDS.get(word, word)
    if word not in answers:
        raise DataError(
            f"{where}: label {_text(record, 'label')!r} found, expected one of {', '.join(answers)}; correct "
            "it, or leave it empty."
        )
    return SheetLabel(key, annotator, word, _text(record, "note"))


def _is_fresh(
    session: LabelSession, said: Mapping[str, Vote], label: SheetLabel, where: str, *, replace: bool
) -> bool:
    """Whether a label is new; another one than before is refused, unless it is to take its place."""
    before = said.get(label.annotator)
    if before is None or before.decision != LABELLED:
        return True
    item = session.item(label.key)
    assert item is not None
    if before.label == session.content_of(item, label.annotator, label.answer):
        return False
    if replace:
        return True
    raise DataError(
        f"{where}: {label.annotator} labelled {label.key!r} otherwise before, expected one label each; "
        "correct the sheet, or say --replace."
    )


def progress(folder: Path) -> LabelProgress:
    with open_session(folder) as session:
        return _progress(session)


def _progress(session: LabelSession) -> LabelProgress:
    draw = session.recorded
    assert draw is not None
    labels = {key: said for key, said in drawn_labels(session).items() if said}
    parts = {
        part: (
            sum(unit.key in labels for unit in draw.drawn.values() if unit.part == part),
            sum(unit.part == part for unit in draw.drawn.values()),
        )
        for part in (TUNE, TEST)
    }
    names = draw.annotators or tuple(dict.fromkeys(who for said in labels.values() for who in said))
    counts = {
        name: (sum(name in said for said in labels.values()), len(draw.assigned(name))) for name in names
    }
    shared = session.agreement()
    return LabelProgress(
        tune=parts[TUNE],
        test=parts[TEST],
        by_annotator=counts,
        opened=session.opened,
        agreement=shared.sentence if shared.shared else None,
        stop=draw.stop,
        limits=None if draw.stop is None else draw.limits_at_every_look(labels),
    )


def open_labels(folder: Path, *, incomplete: bool = False) -> LabelProgress:
    """Unseal the test part, once; refused before all of it is labelled, unless the caller says so."""
    with open_session(folder) as session:
        with session.log.transaction():
            found = _progress(session)
            done, total = found.test
            if not total:
                raise ConfigError(
                    f"{folder}: the draw has no test part to open; its tuning labels are readable."
                )
            if found.opened is None:
                if done < total and not (incomplete and done) and not found.suffices:
                    raise ConfigError(
                        f"{folder}: {done} of {pluralize(total, 'test item')} labelled, expected all before "
                        "the part opens; label the rest, or say --incomplete to leave them out for good."
                    )
                session.open(datetime.now(UTC).isoformat(timespec="seconds"))
        session.write()  # a kill may have come between the opening and its file
        if found.opened is not None:
            raise ConfigError(
                f"{folder}: the test part was opened at {found.opened}, and it opens once; for a fresh test "
                "make another draw with `steelyard labels draw`."
            )
        return _progress(session)


def progress_lines(found: LabelProgress, folder: str) -> list[str]:
    made = []
    for name, (done, total) in found.by_annotator.items():
        made.append(f"{name}: {done:,} of {pluralize(total, 'item')} labelled.")
    if found.tune[1]:
        made.append(f"Tuning: {found.tune[0]:,} of {found.tune[1]:,} labelled, in {folder}/labels.jsonl.")
    if found.test[1]:
        state = "sealed" if found.opened is None else f"opened at {found.opened}"
        made.append(f"Test: {found.test[0]:,} of {found.test[1]:,} labelled, {state}.")
    if found.agreement is not None:
        made.append(found.agreement)
    if found.limits is not None and found.opened is None:
        half = (found.limits[1] - found.limits[0]) / 2
        if found.suffices:
            made.append(f"{pluralize(found.test[0], 'label')} suffice: ±{half:.3f} at every look; stop here.")
        else:
            made.append(f"±{half:.3f} at every look; labelling may stop at ±{found.stop:g}.")
    done, total = found.test
    if found.opened is None and total and (done == total or found.suffices):
        made.append(f"Next: steelyard labels open {folder}")
    return made


def copy_labels(pilot: Path, session: LabelSession) -> None:
    """Labels of the pilot are paid for: they come along as labels for tuning."""
    with closing(LabelSession(pilot)) as old:
        for name, group in old.votes_in_force().items():
            item = session.item(name)
            for who, vote in group.items():
                if item is not None and vote.decision == LABELLED:
                    session.log.append(
                        Choice(name, item.hash, who, LABELLED, None, vote.label, "", vote.note)
                    )


def sheet_text(session: LabelSession, annotator: str) -> str:
    """A blind sheet: what the annotator still has to label, in an order of its own, without any verdict."""
    stream = io.StringIO(newline="")
    pairs = session.recorded is not None and session.recorded.scale == "pairwise"
    texts = ("response_1", "response_2") if pairs else ("response",)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("key", "annotator", "request", *texts, "label", "note"))
    for name in session.waiting(annotator):
        item = session.item(name)
        if item is not None:
            cells = (item.request, *session.shown_texts(annotator, item))
            writer.writerow((name, annotator, *map(escape_formula, cells), "", ""))
    return stream.getvalue()
