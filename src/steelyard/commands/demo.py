"""`demo`: a run of the embedded judges that ships with the program, its record and its datasheet.

The record is the folder that `steelyard measure` wrote; the datasheet is computed from it by `make docs`.
"""

from __future__ import annotations

import io
import lzma
import zipfile
from importlib.resources import files
from pathlib import Path

from steelyard.core.atomic_write import write_error
from steelyard.errors import ConfigError
from steelyard.run_folder.published_files import read_datasheet, write_datasheet
from steelyard.run_folder.run_folder import JSON, RunFolder

RECORD, SHEET = "demo_record.zip", "demo_datasheet.json.xz"


def unpack_demo(path: Path) -> Path:
    """The recorded run as a folder with its files and its page; one that holds another run is refused."""
    here, run = files(__package__), RunFolder(path)
    with zipfile.ZipFile(io.BytesIO((here / RECORD).read_bytes())) as record:
        own = record.read(run.study.name)
        known = run.study.exists() and run.study.read_bytes() == own
        if not known and path.exists() and any(path.iterdir()):
            raise ConfigError(f"{path}: holds another run; choose another folder with --out.")
        try:
            if not known:
                record.extractall(path)
            (path / JSON).write_bytes(lzma.decompress((here / SHEET).read_bytes()))
        except OSError as error:
            raise write_error(path, error) from error
    write_datasheet(path, read_datasheet(path))
    return path
