"""Settings of the process: standard streams that never raise, one BLAS thread, large arrays given back."""

from __future__ import annotations

import codecs
import ctypes
import io
import os
import sys

from steelyard.errors import RunError

TRANSLITERATE = "steelyard.transliterate"
"""Name of the codec error handler for characters that an output cannot encode."""


def prepare() -> None:
    _reserve_descriptors()
    if sys.stdout is None:
        raise RunError("standard output is closed; redirect it to a file, or to /dev/null to discard it.")
    codecs.register_error(TRANSLITERATE, _transliterate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=TRANSLITERATE)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Flush stdout, so that a full disk raises an error."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard() -> None:
    """Redirect stdout to the null device: buffered text would fail again when the process ends."""
    if sys.stdout is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _reserve_descriptors() -> None:
    """A file opened later must not get the number of a closed stream: libraries write there unasked."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _transliterate(error: UnicodeError) -> tuple[str | bytes, int]:
    """`≤` as `<=`, `−` as `-`; a question mark where there is no such spelling."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from steelyard.datasheet.words.text import ascii_only

    return ascii_only(error.object[error.start : error.end]), error.end


_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def use_one_blas_thread() -> None:
    """Set one BLAS thread: the matrices are small, and threads cost more than they gain.

    Call it before numpy is imported, and only in commands that run no model in this process. A value that the
    environment already has wins.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ[_SETTINGS[0]] = "1"


_MMAP_THRESHOLD = -3
"""Parameter of glibc's `mallopt`."""
LARGE = 1 << 19
"""Bytes of an allocation that is given back to the system as soon as it is freed."""


def return_large_arrays() -> None:
    """Give freed columns back to the system: else glibc keeps them in a heap with holes between them.

    A million trials take a third less memory then. Other C libraries have no such setting.
    """
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE)
    except (AttributeError, OSError, TypeError):
        return
