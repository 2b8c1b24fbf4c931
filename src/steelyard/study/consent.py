"""Consent to what a study file of somebody else does: files outside its folder, keys to its addresses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeAlias

from steelyard.errors import ConfigError
from steelyard.providers.provider import destinations
from steelyard.trials.judge import Judge

FILES, KEYS = "files", "keys"

Consent: TypeAlias = Callable[[str, str, str], None]
"""Takes `files` or `keys`, what a study file does, and what there is to do instead; raises if it may not."""


def refuse(kind: str, does: str, instead: str = "") -> None:
    raise ConfigError(f"{does}; {instead}consent with --yes (in Python: consent={kind!r}) if that is meant.")


def consent_to(given: bool | str | Collection[str]) -> Consent:
    """The consent that a caller states beforehand: to all, to `files`, to `keys`, or to nothing."""
    kinds = {FILES, KEYS} if given is True else {given} if isinstance(given, str) else set(given or ())
    for unknown in sorted(kinds - {FILES, KEYS}):
        raise ConfigError(f"consent: found {unknown!r}, expected True, 'files' or 'keys'; correct it.")

    def check(kind: str, does: str, instead: str = "") -> None:
        if kind not in kinds:
            refuse(kind, does, instead)

    return check


def check_keys(study: Path, judges: Iterable[Judge], consent: Consent) -> None:
    """Ask before a study file sends a variable of its choice to an address of its choice."""
    for name, place in destinations(judges).items():
        if place.foreign_variable is not None:
            sends = f"judge {name} sends the value of {place.foreign_variable} to {place.address}"
            consent(KEYS, f"{study}: {sends}, which is not the vendor's", "")
