"""Files that a study names, and consent to what a study file of somebody else does.

One walk finds all files, for the check of what is read and for copies of a study. A study file may be
somebody else's. So it reads regular files of bounded size below its own folder, as they are after links and
`..` are resolved; others need consent, and so do hidden ones such as `.env`, and keys that go to addresses of
its choice. What a caller lays over the file is the caller's own.

Consent is remembered, signed, for the study file's hash and for what it does: another text of the study,
another file behind a link or another address needs it again.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from steelyard.core.files import cache_folder, signature
from steelyard.core.foreign_code import file_of
from steelyard.errors import ConfigError, SteelyardError, UsageError
from steelyard.providers.provider import destinations, model_info
from steelyard.study.composite_judges import CompositeJudge, judge_place
from steelyard.study.judge_protocols import names_file
from steelyard.study.task_config import part_names_file
from steelyard.tasks.adapters import FILE as DATASET
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
        if place.foreign_key is not None:
            sends = f"judge {name} sends {place.foreign_key} to {place.address}"
            unset = f"unset {place.foreign_variable}, or " if place.foreign_variable else ""
            consent.check(study, KEYS, f"{sends}, which is not the vendor's", unset)


PART, TEXT, FILE, CODE = "part", "text", "file", "code"
"""Text of the task or its file, text of a judge or its file, a file, a file seen from the working folder."""
NAMES_FILE: Mapping[str, Callable[[str], bool]] = {PART: part_names_file, TEXT: names_file}
JUDGE_TEXTS = ("prompt", "system", "rubric")
"""Keys of a judge that hold a text or the name of a file."""

Visit = Callable[..., str]
"""Takes kind, name and key of a file, and what it names in turn; gives the name that is to stand there."""


MAX_TEXT, MAX_FILE = 1_000_000, 1_000_000_000
"""Bytes of a text that is shown to judges, and of every other file."""


@dataclass(frozen=True)
class NamedFile:
    key: str
    name: str
    path: Path
    kind: str
    roots: tuple[Path, ...]
    """Folder of the study file, and of a file outside it that names this one."""
    inner: Callable[[], Iterable[str]] = tuple
    """Names of the files that this one names in its turn."""

    @property
    def real(self) -> Path:
        try:
            return self.path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links or a NUL: nobody can read it either
            return self.path.absolute()

    @property
    def is_outside(self) -> bool:
        """Outside the folder, or hidden below it: there lie keys and settings, and no texts for a judge."""
        below = [self.real.relative_to(root) for root in self.roots if self.real.is_relative_to(root)]
        return all(any(part.startswith(".") for part in path.parts) for path in below)

    def within(self) -> Iterator[NamedFile]:
        """What is read of a folder of data, and the files that a file names in its turn."""
        folder = self.path if self.path.is_dir() else self.path.parent
        found = [folder / name for name in self.inner()] if self.path.exists() else []
        if self.path.is_dir() and self.key.startswith("data."):
            found += sorted(self.path.rglob(DATASET))
        roots = (*self.roots, folder.resolve()) if self.is_outside else self.roots
        for path in found:
            yield replace(self, name=str(path), path=path, roots=roots, inner=tuple)

    def __str__(self) -> str:
        written = f": {self.name}" if self.is_outside and str(self.real) != self.name else ""
        return f"{self.real if self.is_outside else self.path} ({self.key}{written})"


def files_of(study: Path, body: Mapping[str, Any], overrides: Mapping[str, Any]) -> tuple[NamedFile, ...]:
    """The files that a study file itself names, each once for every key."""
    own = {key: value for key, value in body.items() if key not in overrides or key in ("task", "data")}
    for key in ("task", "data"):
        if isinstance(own.get(key), Mapping):
            own[key] = {part: own[key][part] for part in own[key] if part not in overrides.get(key, {})}
    found: list[NamedFile] = []
    roots = (study.parent.resolve(),)

    def visit(kind: str, name: str, key: str, inner: Callable[[], Iterable[str]] = tuple) -> str:
        path = Path(name) if kind == CODE else study.parent / name
        found.append(NamedFile(key, name, path, kind, roots, inner))
        return name

    visit_files(own, visit)
    return tuple(found)


def check_files(study: Path, files: Sequence[NamedFile], consent: Consent) -> tuple[NamedFile, ...]:
    """All that is read, with what the files themselves name, once the user has consented to it."""
    outside = [file for file in files if file.is_outside]
    if outside:
        reads = f"reads {', '.join(map(str, outside))} outside its folder, or hidden in it"
        below = f"expected other files below {outside[0].roots[0]}: copy them there, or "
        consent.check(study, FILES, reads, below)
    for file in files:
        _check_file(study, file)
    inner = [each for file in files for each in file.within()]
    return (*files, *(check_files(study, inner, consent) if inner else ()))


def _check_file(study: Path, file: NamedFile) -> None:
    try:
        found = file.real.stat()
    except (OSError, ValueError):
        return  # whoever reads it says what is wrong
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise ConfigError(
            f"{study}: {file.key}: {file.name} is a pipe, a socket or a device, expected a regular file; "
            "copy what it gives into one."
        )
    most = MAX_TEXT if file.kind in (PART, TEXT) else MAX_FILE
    if stat.S_ISREG(found.st_mode) and found.st_size > most:
        raise ConfigError(
            f"{study}: {file.key}: {file.name} holds {found.st_size / 1e6:,.0f} MB, expected at most "
            f"{most / 1e6:,.0f} MB; shorten it."
        )


def visit_files(body: dict[str, Any], visit: Visit) -> None:
    """Have `visit` see every file of a study, and put what it gives into the place of the name."""
    editing = body.get("editing")
    for place, under, keys, kind in (
        (body, "", ("checklists",), FILE),
        (body.get("task"), "task.", ("instruction", "rubric"), PART),
        (body.get("task"), "task.", ("rubrics",), FILE),
        (body.get("data"), "data.", ("path",), FILE),
        ((body.get("data") or {}).get("responses"), "data.responses.", ("path",), FILE),
        *((stage, f"editing.{role}.", ("prompt",), TEXT) for role, stage in (editing or {}).items()),
    ):
        _visit_keys(place, keys, kind, under, visit)
    if "judges" in body:
        body["judges"] = [_visit_judge(judge, visit) for judge in body["judges"]]
    for probe in body.get("probes", ()):
        for name, options in probe.items() if isinstance(probe, dict) else ():
            cues = options.get("cues") if isinstance(options, dict) else None
            for cue in cues if isinstance(cues, list) else ():
                function = cue.get("function") if isinstance(cue, dict) else None
                if isinstance(function, str) and (file := file_of(function)) is not None:
                    visit(CODE, file, f"probes.{name}.cues")


def _visit_keys(place: Any, keys: tuple[str, ...], kind: str, under: str, visit: Visit) -> None:
    for key in keys if isinstance(place, dict) else ():
        value = place.get(key)
        if isinstance(value, Path) or (isinstance(value, str) and NAMES_FILE.get(kind, bool)(value)):
            place[key] = visit(kind, str(value), f"{under}{key}")


def _visit_judge(given: Any, visit: Visit) -> Any:
    composite = CompositeJudge.of(given)
    if composite is not None:
        members = [_visit_judge(member, visit) for member in composite.member_specs]
        if members == list(composite.member_specs):
            return given
        changed = {"jury": members} if composite.config.jury else {"of": members[0]}
        return {**composite.config.model_dump(exclude_unset=True), **changed}
    under = f"{judge_place(given)}: "
    if isinstance(given, str):
        return _visit_address(given, under, visit)
    if isinstance(given.get("model"), str):
        given["model"] = _visit_address(given["model"], under, visit)
    _visit_keys(given, JUDGE_TEXTS, TEXT, under, visit)
    protocols = given.get("protocols")
    for name, protocol in protocols.items() if isinstance(protocols, dict) else ():
        _visit_keys(protocol, JUDGE_TEXTS, TEXT, f"{under}protocols.{name}.", visit)
        _visit_keys(protocols, (name,), TEXT, f"{under}protocols.", visit)
    return given


def _visit_address(given: str, under: str, visit: Visit) -> str:
    address, mark, query = given.partition("?")
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    visited = {**pairs}
    _visit_keys(visited, JUDGE_TEXTS, TEXT, under, visit)
    if "model" in pairs:  # a query may say any key of a judge
        visited["model"] = _visit_model(pairs["model"], under, visit)
    return _visit_model(address, under, visit) + mark + (query if visited == pairs else urlencode(visited))


def _visit_model(address: str, under: str, visit: Visit) -> str:
    provider, slash, name = address.partition("/")
    try:
        info = model_info(address) if slash else None  # without a slash it is another judge's name
    except UsageError:
        return address  # refused when the judge is built
    if info is not None and info.is_recording:
        return provider + slash + visit(FILE, name, f"{under}model")
    if info is not None and (file := info.file_of(name)):
        visit(CODE, file, f"{under}model", partial(info.files_within, name))
    return address
