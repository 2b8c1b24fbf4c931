"""Options of a command as fields of a dataclass: each is written once, and the command line reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def setting(
    text: str,
    metavar: str | None = None,
    flags: tuple[str, ...] = (),
    *,
    default: Any = None,
    late: bool = False,
    **about: Any,
) -> Any:
    """A field that an option sets, with its help; its flag is the name of the field where none are given.

    `kind` says what a value is (see `KINDS` of the command line), `choices` which words it may be; one taken
    `once` refuses a second; a `late` one comes after those that are not; all else is what an option of click
    takes.
    """
    about |= {"help": text} if metavar is None else {"help": text, "metavar": metavar}
    return field(default=default, metadata={"flags": flags, "late": late, "about": about})


def several(text: str, metavar: str, flags: tuple[str, ...] = (), **about: Any) -> Any:
    """A field that a repeatable option sets."""
    return setting(text, metavar, flags, default=(), multiple=True, **about)


def flag(text: str, flags: tuple[str, ...] = (), **about: Any) -> Any:
    """A field that is true where its option is given."""
    return setting(text, None, flags, default=False, is_flag=True, **about)


def argument(metavar: str, kind: str = "text", **about: Any) -> Any:
    return field(metadata={"about": {"metavar": metavar, "kind": kind, **about}})


def group(options: type) -> Any:
    """A field for options that several commands share."""
    return field(default_factory=options, metadata={"group": options})


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Where the figures go beside the terminal."""

    out: Path | None = setting("Write the figures as JSON here.", "FILE", kind="file")
    page: Path | None = setting("Write a page with one figure here.", "FILE", ("--html",), kind="file")
    as_json: bool = flag("Print the figures as JSON.", ("--json",))
