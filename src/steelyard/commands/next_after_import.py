"""The next step with a table of verdicts that was imported: estimate what people would say, or label rows."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign
from steelyard.importing.mapped_columns import MappedTable
from steelyard.importing.ratings import RatingColumns, parse_parts
from steelyard.importing.scores import ScoreTable
from steelyard.survey.judged_items import FEWEST_LABELS, Subject, check_labels, frame_of, judged_items
from steelyard.survey.rating_files import load_ratings

SHARED_PARTS = ("item", "score", "expected", "task", "stratum")
"""Parts that `import` and the commands of ratings both know."""
_USUAL_DRAW = 100
_OF_EACH_VERDICT = 10


@dataclass(frozen=True)
class TableReading:
    """The options with which a table was read, for another command to read it alike."""

    path: Path
    source: MappedTable
    values: str | None = None
    where: str | None = None
    labels: Path | None = None
    label_columns: str | None = None

    @property
    def columns(self) -> str:
        mapped = self.source.columns
        return ",".join(f"{part}={mapped[part]}" for part in SHARED_PARTS if part in mapped)

    @property
    def beside(self) -> list[str]:
        """Options that name the file of labels."""
        given = {"--labels": self.labels, "--label-columns": self.label_columns}
        return [word for option, value in given.items() if value for word in (option, str(value))]

    def command(self, name: str, *rest: str) -> str:
        given = {"--columns": self.columns, "--values": self.values, "--where": self.where}
        words = [word for option, value in given.items() if value for word in (option, value)]
        return shlex.join(["steelyard", *name.split(), str(self.path), *words, *rest])


def next_after_import(reading: TableReading, calls: ScoreTable) -> list[str]:
    """A sentence and a command that works on the file; nothing where every row is labelled."""
    labelled = sum(text.expected is not None for text in calls.subjects)
    rest = len(calls.subjects) - labelled
    if not rest or "judge" in reading.source.columns:
        return []
    if labelled >= FEWEST_LABELS and _looks_random(reading):
        return [
            f"Next, if people labelled these {pluralize(labelled, 'row')} and they were drawn at random, "
            f"what people would say of all {len(calls.subjects):,}:",
            reading.command("estimate", *reading.beside, "--design", "random"),
        ]
    if reading.labels is not None:
        return []  # a draw would not know which rows have a label
    if "text" not in reading.source.columns:
        return [
            f"Next: {pluralize(rest, 'row')} without a label; add a column with the texts, such as answer, "
            "so that `steelyard labels draw` can write a sheet for people."
        ]
    size = min(rest, max(_USUAL_DRAW, _OF_EACH_VERDICT * len({outcome[0] for outcome in calls.outcomes})))
    return [
        f"Next: draw rows for people to label, of {rest:,} without a label:",
        reading.command("labels draw", "-n", str(size), "--out", f"{reading.path.stem}-labels"),
    ]


def _looks_random(reading: TableReading) -> bool:
    """Whether `estimate` would take the labels for a random draw of the rows."""
    try:
        how = RatingColumns.parse(reading.columns, values=reading.values, where=reading.where)
        own = parse_parts(reading.label_columns, "--label-columns")
        items, _ = judged_items(load_ratings(reading.path, how, reading.labels, own), Subject())
        check_labels("", frame_of(items).frame, LabelDesign.RANDOM, "")
    except DataError:
        return False
    return True
