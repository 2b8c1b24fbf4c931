"""Consent to what a study file of somebody else does: files outside its folder, keys to its addresses.

Consent is remembered, signed, for the study file's hash and for what it does: another text of the study,
another file behind a link or another address needs it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from steelyard.core.files import cache_folder, signature
from steelyard.errors import ConfigError, SteelyardError
from steelyard.providers.provider import destinations
from steelyard.trials.judge import Judge

FILES, KEYS = KINDS = ("files", "keys")


@dataclass(frozen=True)
class Consent:
    given: frozenset[str] = frozenset()
    """What the user has consented to beforehand: `files`, `keys`."""
    ask: Callable[[str], bool] | None = None
    """Puts a question to a person; None where nobody can be asked."""
    tell: Callable[[str], object] = lambda _: None
    """Lists what consent was given to beforehand."""
    _answered: set[str] = field(default_factory=set)
    """What was answered in this command, where nothing can be remembered."""

    def check(self, study: Path, kind: str, does: str, instead: str = "") -> None:
        """Raise where the study file may not do this; `instead` says what else there is to do."""
        deed = f"{study}: {does}"
        if deed in self._answered:
            return
        if kind in self.given:
            self.tell(f"{deed}.")
        elif not _is_remembered(study, does):
            if self.ask is None:
                raise ConfigError(
                    f"{deed}; {instead}consent with --yes {kind} (in Python: consent={kind!r}) if that is "
                    "meant."
                )
            if not self.ask(f"{deed}."):
                raise ConfigError("no consent: nothing of it was read or sent; correct the study file.")
        self._answered.add(deed)
        with suppress(OSError, SteelyardError):
            place = _place(study, does)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


def _is_remembered(study: Path, does: str) -> bool:
    try:
        return _place(study, does).is_file()
    except (OSError, SteelyardError):
        return False


def _place(study: Path, does: str) -> Path:
    """An empty file, whose name signs the study's text, its folder, and what it does."""
    text = sha256(study.read_bytes()).hexdigest()
    return cache_folder() / "consent" / signature([text, str(study.parent.resolve()), does])


refuse = Consent()


def consent_to(given: bool | str | Collection[str]) -> Consent:
    """The consent that a caller states beforehand: to all, to `files`, to `keys`, or to nothing."""
    kinds = set(KINDS) if given is True else {given} if isinstance(given, str) else set(given or ())
    for unknown in sorted(kinds - set(KINDS)):
        raise ConfigError(f"consent: found {unknown!r}, expected True, 'files' or 'keys'; correct it.")
    return Consent(frozenset(kinds))


def check_keys(study: Path, judges: Iterable[Judge], consent: Consent) -> None:
    """Ask before a study file sends a key to an address of its choice."""
    for name, place in destinations(judges).items():
        if place.foreign_variable is not None:
            sends = f"judge {name} sends the value of {place.foreign_variable} to {place.address}"
            unset = f"unset {place.foreign_variable}, or "
            consent.check(study, KEYS, f"{sends}, which is not the vendor's", unset)
