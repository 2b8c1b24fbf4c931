"""What `doctor` looks at."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from steelyard.errors import ConfigError
from steelyard.providers.provider import PROVIDERS, provider_info
from steelyard.providers.provider_info import DoctorCheck
from steelyard.run_folder.results_file import PARQUET, parquet_missing

ENOUGH_DISK = 1_000_000_000

EXTRAS = (
    ("XLSX", "openpyxl", "xlsx", "data in .xlsx and .xlsm"),
    ("Ray", "ray", "ray", "--engine ray, calls by workers of a cluster"),
)
"""Check, package, extra that brings it, and what it is for; providers say of theirs themselves."""


def _extras() -> Iterator[DoctorCheck]:
    """What an extra would add."""
    for name, package, extra, purpose in EXTRAS:
        there = find_spec(package) is not None
        wanting = f"{package} is not installed; install steelyard[{extra}] for {purpose}"
        yield DoctorCheck(name, "ok" if there else "absent", purpose if there else wanting)


def checkup() -> Iterator[DoctorCheck]:
    """Machine, disk, and what each provider needs."""
    yield DoctorCheck(
        "Python", "ok", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
    )
    yield DoctorCheck("SQLite", "ok", sqlite3.sqlite_version)
    free = shutil.disk_usage(Path.cwd()).free
    yield DoctorCheck("disk", "ok" if free > ENOUGH_DISK else "broken", f"{free / 1e9:.1f} GB free here")
    missing = parquet_missing()
    wanting = f"{missing}, so runs have no {PARQUET}; install steelyard[parquet]"
    yield DoctorCheck(
        "Parquet", "absent" if missing else "ok", wanting if missing else f"runs have {PARQUET}"
    )
    yield from _extras()
    unset: list[str] = []
    for name in PROVIDERS.in_order():
        try:
            info = provider_info(name)
            yield from info.every_check()
            unset += [info.missing_key] if info.missing_key else []
        except ConfigError as error:
            yield DoctorCheck(f"provider {name}", "broken", str(error), error.exit_code)
    if unset:
        names = ", ".join(dict.fromkeys(unset))
        yield DoctorCheck("keys", "absent", f"not set: {names}; set those of the providers that you use")
