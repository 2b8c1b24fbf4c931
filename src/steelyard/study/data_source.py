"""Where the items of a study came from: what was asked of which files, and the hash of each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.tasks.adapters.layouts import FILE
from steelyard.tasks.data_config import DataConfig


@dataclass(frozen=True)
class DataSource:
    """The data of a study, as its run folder remembers them."""

    settings: Mapping[str, Any]
    """The `data` key as it was given."""
    files: Mapping[str, str]
    """File to the hash of its content."""

    def changed(self, other: DataSource) -> str | None:
        """A file of this source whose content the other does not have; a file may move."""
        known = set(other.files.values())
        return next((path for path, digest in self.files.items() if digest not in known), None)


def data_source(config: DataConfig, folder: Path) -> DataSource:
    """The source with the hash of every file it is read from."""
    paths = [config.path, *([config.responses.path] if config.responses else [])]
    settings = config.model_dump(exclude_none=True)
    return DataSource(settings, {path: _digest(folder / path) for path in paths})


def _digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, of the names and contents of the files that are read from it."""
    digest = hashlib.sha256()
    try:
        if not path.is_dir():
            digest.update(path.read_bytes())
        for file in sorted(path.rglob(FILE)):
            name, content = file.relative_to(path).as_posix(), file.read_bytes()
            digest.update(f"{name}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a data file.") from error
    return f"sha256:{digest.hexdigest()}"
