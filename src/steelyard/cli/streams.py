"""Standard streams that never end a command with a traceback."""

from __future__ import annotations

import codecs
import io
import os
import sys

from steelyard.errors import RunError

MEANING = "steelyard.meaning"
"""Name of the error handler that keeps the meaning of characters an output does not know."""


def prepare() -> None:
    """Occupy closed streams, refuse a closed stdout, and let any text through."""
    _occupy()
    if sys.stdout is None:
        raise RunError("standard output is closed; redirect it to a file, or to /dev/null to discard it.")
    codecs.register_error(MEANING, _keep_meaning)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=MEANING)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write what is still held back, so that a full disk is told of."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard() -> None:
    """Let stdout go nowhere: what it still holds back would fail once more when the process ends."""
    if sys.stdout is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _occupy() -> None:
    """A file opened later must not get the number of a closed stream: libraries write there unasked."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _keep_meaning(error: UnicodeError) -> tuple[str | bytes, int]:
    """`≤` as `<=`, `−` as `-`; a question mark where there is no such spelling."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from steelyard.datasheet.words.text import ascii_only

    return ascii_only(error.object[error.start : error.end]), error.end
