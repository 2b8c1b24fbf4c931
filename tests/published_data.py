"""Published data for tests: what ships with them, and what else lies beside the project."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKED = ROOT / "tests" / "published"
BESIDE = Path(os.environ.get("STEELYARD_SHARED") or ROOT.parent / "shared")


@cache
def published(folder: str) -> Path:
    """A folder of published data, unpacked once for all processes; files beside the project are added."""
    sources = sorted(PACKED.glob(f"{folder}/*.xz"))
    beside = BESIDE / ("golden" if folder == "golden" else f"data/{folder}")
    others = sorted(each for each in beside.glob("*") if each.is_file()) if beside.is_dir() else []
    names = "\n".join([str(beside), *(f"{each.name} {each.stat().st_size}" for each in (*sources, *others))])
    made = ROOT / ".pytest_cache" / "published" / hashlib.sha256(names.encode()).hexdigest()[:16] / folder
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=made.parent))
    for each in sources:
        (fresh / each.stem).write_bytes(lzma.decompress(each.read_bytes()))
    for each in others:
        if not (fresh / each.name).exists():
            (fresh / each.name).symlink_to(each)
    with suppress(OSError):  # another process was faster
        fresh.rename(made)
    shutil.rmtree(fresh, ignore_errors=True)
    return made
