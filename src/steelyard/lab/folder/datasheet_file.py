"""`datasheet.json` of a folder, opened: what is no datasheet is told in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError


def read_datasheet(folder: Path) -> Datasheet:
    """The datasheet of a run folder or an import, as it was published."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder, expected one that `measure` or `import` wrote.")
    path = folder / "datasheet.json"
    if not path.exists():
        raise ConfigError(
            f"{folder}: no datasheet.json found, expected a folder that `measure` or `import` wrote."
        )
    try:
        return Datasheet.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"{path}: not a datasheet ({reason}); write it again with `steelyard report`."
        ) from error
