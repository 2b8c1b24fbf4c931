"""What a simulation was made with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from steelyard.version import __version__


def circumstances() -> dict[str, str]:
    """Date, versions and machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "steelyard": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
