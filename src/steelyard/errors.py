"""What can go wrong, as a tree.

::

    SteelyardError
    ├── UsageError            exit 2: the caller must change something
    │   ├── ConfigError           a study file, a judge string, an option
    │   ├── DataError             a data file: missing column, bad label, empty
    │   ├── UnknownNameError      no such probe, judge, provider, reader
    │   ├── StoreFormatError      a run file that a later version of Steelyard wrote
    │   └── ProviderRefusedError  rejected key, unknown model
    ├── RunError              exit 1: the run could not finish; what was paid for is kept
    │   ├── UnreachableError      server or package index cannot be reached
    │   ├── BudgetError           the budget is reached
    │   ├── PreflightError        the first replies of a judge cannot be parsed
    │   │   └── CallsRefusedError     exit 2: the server refused the first calls of a judge, all alike
    │   ├── InterruptedRunError   Ctrl-C
    │   └── StoreError            the run file cannot be read or written
    ├── UnreadableError       a Python judge came to no verdict; public as `steelyard.Unreadable`
    ├── CertificateError      exit 3: a certificate has expired or does not fit
    └── CallError             one call failed; the runner decides what becomes of it
        ├── TransientError        worth another try (429, 5xx, timeout, dropped connection)
        └── PermanentError        another try would end the same way

A message is one sentence that says where, what was found, what was expected and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class SteelyardError(Exception):
    """Root of every error that Steelyard raises on purpose."""

    exit_code = 1


class UsageError(SteelyardError):
    """The caller must change an option, a file or a key."""

    exit_code = 2


class ConfigError(UsageError):
    """A study file, judge string or option is wrong."""


class DataError(UsageError):
    """A data file is wrong: missing column, label outside the scale, no rows."""


class UnknownNameError(UsageError):
    """A name is not registered."""


class StoreFormatError(UsageError):
    """A run file was written by a later version of Steelyard."""


class ProviderRefusedError(UsageError):
    """The provider rejected the key or does not know the model."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, where there was one."""


class RunError(SteelyardError):
    """The run could not finish; every reply that arrived is kept."""


class UnreachableError(RunError):
    """A server or the package index cannot be reached."""


class BudgetError(RunError):
    """The spending limit is reached."""


class PreflightError(RunError):
    """Most of a judge's first replies cannot be parsed, so the rest is not paid for."""


class CallsRefusedError(PreflightError):
    """A judge's server refused its first calls, all alike, so the rest is not sent; other judges go on."""

    exit_code = 2


class InterruptedRunError(RunError):
    """The user stopped the run."""


class StoreError(RunError):
    """The run file cannot be read or written."""


class CertificateError(SteelyardError):
    """A certificate has expired, or does not speak for the judge at hand."""

    exit_code = 3


class UnreadableError(SteelyardError):
    """The judge replied, and its reply holds no verdict: for a Python judge to raise or return."""

    def __init__(self, why: str = "", finish: str = "unreadable") -> None:
        super().__init__(why)
        self.finish = finish
        """How the reply ended, as in `Reply.finish`."""


Unreadable = UnreadableError
"""The name that people write."""


REPEATED = "repeated_reply"
"""Reason of a call whose reply may be that to another: its server sends responses that nobody asked for."""


class CallError(SteelyardError):
    """One call to a provider failed."""

    def __init__(self, reason: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        """Short class of the failure, counted on the datasheet: `rate_limited`, `server_error`, …"""
        self.status = status
        """HTTP status, where there was one."""
        self.requests = 0
        """HTTP requests that a Python judge made for it; 0 where nobody counted."""

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is, when it travels from one process to another."""
        return _rebuilt, (type(self), str(self), dict(self.__dict__))


class TransientError(CallError):
    """Worth another try."""

    def __init__(
        self, reason: str, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(reason, message, status=status)
        self.retry_after = retry_after
        """Seconds the server asked us to wait, where it said so."""


class PermanentError(CallError):
    """Another try of the same call would end the same way."""


def _rebuilt(kind: type[CallError], message: str, state: dict[str, Any]) -> CallError:
    error = kind.__new__(kind, message)
    error.__dict__.update(state)
    return error


def without_frames(error: CallError) -> CallError:
    """An error that is kept, without the frames that it came through and what they hold."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def exit_code(errors: Iterable[SteelyardError]) -> int:
    """The exit code that several errors amount to; 0 without any."""
    return max((error.exit_code for error in errors), default=0)
