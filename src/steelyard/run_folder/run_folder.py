"""A run is a folder: where its files lie, and one process in it at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.atomic_write import write_error
from steelyard.errors import RunError
from steelyard.store.run_store import RunStore
from steelyard.study.study import Study

try:
    import fcntl
except ImportError:  # not on Windows, where runs are not guarded against each other
    fcntl = None  # type: ignore[assignment]

JSON, MARKDOWN, PAGE = SHEETS = ("datasheet.json", "datasheet.md", "datasheet.html")
RUNS = "steelyard-runs"
"""Folder of the runs that were given no --out."""


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @classmethod
    def default(cls, study: Study) -> RunFolder:
        """`steelyard-runs/<name>-<8 hex of the effective configuration>`."""
        digest = study.hash.removeprefix("sha256:")[:8]
        return cls(Path(RUNS) / f"{study.name}-{digest}")

    @property
    def study(self) -> Path:
        return self.path / "study.yaml"

    @property
    def stimuli(self) -> Path:
        return self.path / "stimuli.jsonl"

    @property
    def database(self) -> Path:
        return self.path / "run.db"

    @property
    def decisions(self) -> Path:
        return self.path / "decision.json"

    @property
    def reviews(self) -> Path:
        return self.path / "review.db"

    @property
    def page(self) -> Path:
        return self.path / PAGE

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time in a run folder: two would pay for the same trials."""
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

    @contextmanager
    def store(self, *, read_only: bool = False) -> Iterator[RunStore]:
        store = RunStore(self.database, read_only=read_only)
        try:
            yield store
        finally:
            store.close()
