"""A run is a folder: where its files lie, and one process in it at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.core.files import write_error
from steelyard.errors import RunError
from steelyard.store.connection import check_path
from steelyard.store.run_store import RunStore

if TYPE_CHECKING:
    from steelyard.study.study import Study

try:
    import fcntl
except ImportError:  # not on Windows, where runs are not guarded against each other
    fcntl = None  # type: ignore[assignment]

JSON, MARKDOWN, PAGE = SHEETS = ("datasheet.json", "datasheet.md", "datasheet.html")
CSV, LINES, PARQUET = RESULTS = ("results.csv", "results.jsonl", "results.parquet")
RUNS = "steelyard-runs"


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.study = path / "study.yaml"
        self.stimuli = path / "stimuli.jsonl"
        self.database = path / "run.db"
        """Trials, replies and failures."""
        self.columns = path / "columns.jsonl"
        """Columns of the data that the results repeat, by item."""
        self.decisions = path / "decision.json"
        """The log of sequential decisions."""
        self.reviews = path / "review.db"
        """Votes of reviewers about written stimuli."""
        self.imported = (path / "observations.jsonl", path / "import.json")
        """Recorded verdicts in place of a run's replies, and where they came from."""
        self.page = path / PAGE

    @classmethod
    def default(cls, study: Study) -> RunFolder:
        """`steelyard-runs/<name>-<8 hex of the effective configuration>`."""
        return cls(Path(RUNS) / f"{study.name}-{study.hash.removeprefix('sha256:')[:8]}")

    @classmethod
    def another(cls, study: Study) -> RunFolder:
        """A folder for the next run of an unchanged study: the default one with a number, 2 and upwards.

        It does not go by the folder of this run, so that equal runs have equal datasheets.
        """
        default = cls.default(study).path
        given = [value for option, value in pairwise(study.command or ()) if option == "--out"]
        numbers = [re.fullmatch(rf"{re.escape(default.as_posix())}-(\d+)", value) for value in given]
        number = max((int(found[1]) for found in numbers if found), default=1) + 1
        return cls(default.with_name(f"{default.name}-{number}"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time in a run folder: two would pay for the same trials."""
        check_path(self.database)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / ".lock").open("w")
        except OSError as error:
            raise write_error(self.path, error) from error
        with handle:
            if fcntl is not None:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise RunError(
                        f"{self.path}: another process is measuring into this folder; wait for it to end."
                    ) from error
            yield

    @property
    def published(self) -> tuple[int, int, int] | None:
        """Another after every time that the datasheet is written; None where there is none."""
        try:
            found = (self.path / JSON).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """One process at a time writes the published files: they come from one computation."""
        with ExitStack() as stack:
            if fcntl is not None:
                with suppress(OSError):  # as on a file system without locks
                    handle = os.open(self.path, os.O_RDONLY)
                    stack.callback(os.close, handle)
                    fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def check_format(self) -> None:
        """Refuse the run of a later version, for what reads other files of it first."""
        if self.database.exists():
            with self.store(read_only=True):
                pass

    @contextmanager
    def store(self, *, read_only: bool = False) -> Iterator[RunStore]:
        store = RunStore(self.database, read_only=read_only)
        try:
            yield store
        finally:
            store.close()
