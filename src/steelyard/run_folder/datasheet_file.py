"""The datasheet of a folder, as files: written in every format, read back, taken away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard.core.atomic_write import write_text
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import html, markdown
from steelyard.errors import ConfigError
from steelyard.metrics.faults import Faults
from steelyard.run_folder.published import JSON, MARKDOWN, PAGE, SHEETS


def read_datasheet(folder: Path) -> Datasheet:
    """The datasheet of a run folder or an import, as it was published."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder, expected one that `measure` or `import` wrote.")
    path = folder / JSON
    if not path.exists():
        raise ConfigError(
            f"{folder}: no datasheet.json found, expected a folder that `measure` or `import` wrote."
        )
    try:
        return Datasheet.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"{path}: not a datasheet ({reason}); write it again with `steelyard report`."
        ) from error


def write_datasheet(folder: Path, datasheet: Datasheet) -> Datasheet:
    """Write JSON, Markdown and one HTML page; the datasheet comes back with what could not be drawn."""
    write_text(folder / JSON, datasheet.dumps())
    faults = Faults()
    for path, render in (
        (folder / MARKDOWN, partial(markdown.render, datasheet)),
        (folder / PAGE, partial(html.render, datasheet, faults)),
    ):
        text = faults.guarded("", path.name, render, lambda _: None)
        if text is None:
            path.unlink(missing_ok=True)  # one of an earlier sitting would tell of other figures
        else:
            write_text(path, text)
    if not faults.found:
        return datasheet
    datasheet = replace(datasheet, faults=(*datasheet.faults, *faults.found))
    write_text(folder / JSON, datasheet.dumps())
    return datasheet


def remove_datasheet(folder: Path) -> None:
    """Take away what may lie there."""
    for name in SHEETS:
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)
