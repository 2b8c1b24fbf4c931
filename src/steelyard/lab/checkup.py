"""What `doctor` looks at."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import ConfigError
from steelyard.lab.folder.results_file import PARQUET, parquet_missing
from steelyard.providers.provider import PROVIDERS, provider_traits
from steelyard.providers.traits import Check

ENOUGH_DISK = 1_000_000_000


def checkup() -> Iterator[Check]:
    """Machine, disk, and what each provider needs."""
    yield Check(
        "Python", "ok", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    )
    yield Check("SQLite", "ok", sqlite3.sqlite_version)
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("disk", "ok" if free > ENOUGH_DISK else "broken", f"{free / 1e9:.1f} GB free here")
    missing = parquet_missing()
    wanting = f"{missing}, so runs have no {PARQUET}; install steelyard[parquet]"
    yield Check("Parquet", "absent" if missing else "ok", wanting if missing else f"runs have {PARQUET}")
    for name in PROVIDERS.in_order():
        try:
            yield from provider_traits(name).every_check()
        except ConfigError as error:
            yield Check(f"provider {name}", "broken", str(error), error.exit_code)
