"""`demo`: a run of the embedded judges that ships with the program: its record, and what it publishes.

The record is the folder that `steelyard measure` wrote; `make docs` computes the published files from it.
"""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files
from pathlib import Path

from steelyard.core.files import write_error
from steelyard.errors import ConfigError
from steelyard.run_folder.run_folder import SHEETS, RunFolder

RECORD, PUBLISHED = "demo_record.zip", "demo_published.zip"


def unpack_demo(path: Path) -> Path:
    """The recorded run as a folder, with its page; one that holds another run is refused."""
    run, record = RunFolder(path), _archive(RECORD)
    known = run.study.exists() and run.study.read_bytes() == record.read(run.study.name)
    if not known and path.exists() and any(path.iterdir()):
        raise ConfigError(f"{path}: holds another run; choose another folder with --out.")
    try:
        if not known:
            record.extractall(path)
        _archive(PUBLISHED).extractall(path)
    except OSError as error:
        raise write_error(path, error) from error
    return path


def published_demo() -> dict[str, bytes]:
    archive = _archive(PUBLISHED)
    return {name: archive.read(name) for name in archive.namelist()}


def pack_published(path: Path) -> bytes:
    """The published files of a folder as an archive: the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in SHEETS:
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_LZMA, 0o644 << 16
            archive.writestr(entry, (path / name).read_bytes())
    return packed.getvalue()


def _archive(name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO((files(__package__) / name).read_bytes()))
