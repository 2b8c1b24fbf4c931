"""A bound on the memory that work of somebody else's making may take, on systems that keep one (Linux)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ONE_AT_A_TIME = threading.RLock()
"""The bound is the process's, and is put back as it was."""


@contextmanager
def memory_bound(more: int) -> Iterator[None]:
    """Have what takes so many bytes more than the process has raise a MemoryError."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        yield
        return
    with _ONE_AT_A_TIME:
        before, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + more
        stated = [limit for limit in (before, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([most, *stated]), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, hard))
