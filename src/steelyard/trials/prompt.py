"""Prompts: Jinja2 templates, checked and rendered; values go in verbatim, once, and are never rendered again.

A rendered prompt is hashed once for all repeats and judges that put the question alike. `template_reader`
makes Jinja2 of what users write.

How many tokens a text is for a model is estimated by the parts it is made of, whoever serves it: tokenizers
cut a text into words, numbers, runs of signs and line ends before anything else, and all that are public do
it alike. The weights were fitted to three of them (OpenAI's o200k_base and cl100k_base, Anthropic's of 2023)
on prompts of this project, pages, source code, JSON and HTML, and to the first alone on other scripts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta, nodes
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from steelyard.core.content_hash import canonical_json, hash_json
from steelyard.core.foreign_code import TooSlowError, memory_bound, time_bound
from steelyard.errors import ConfigError
from steelyard.tasks.task import BestOf, Ordinal, Pairwise, Task

_WORD, _LETTER, _DIGIT, _RUN, _SIGN, _LINE = 0.45, 0.13, 0.7, 0.85, 0.1, 0.9
"""Tokens of a word and of each letter in it, of a digit, of a run of signs and each in it, of a line end."""
_ACCENTED, _FOREIGN, _SYLLABLE, _IDEOGRAPH = 0.8, 0.2, 0.65, 0.75
"""Tokens of a letter with an accent, of one of another alphabet, of a syllable's and of a word's sign."""

_SYLLABLES = re.compile("[\u1100-\u11ff\u3040-\u30ff\uac00-\ud7af]")
"""Of Korean and Japanese."""
_IDEOGRAPHS = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Of Chinese and Japanese, and their punctuation."""

_ASCII = bytes(range(0x80))
_FOLLOWING = bytes(range(0x80, 0xC0))
"""Bytes after the first of a character in UTF-8; without them each character is one byte."""
_LATIN, _OTHERS = bytes(range(0xC2, 0xC8)), bytes(range(0xC8, 0xE2))
"""First bytes of letters with accents, and of those of other alphabets."""
_LETTERS = bytes(filter(lambda code: chr(code).isalpha(), _ASCII))
_DIGITS = b"0123456789"
_BLANKS = bytes(filter(lambda code: chr(code).isspace(), _ASCII))


def _marks(parts: Iterable[int]) -> bytes:
    chosen = frozenset(parts)
    return bytes(ord("x") if code in chosen else ord(" ") for code in range(256))


_IN_WORDS = _marks(_LETTERS + _LATIN + _OTHERS)
_IN_SIGNS = _marks(set(range(256)) - {*_LETTERS, *_LATIN, *_OTHERS, *_DIGITS, *_BLANKS})


def expected_tokens(text: str) -> float:
    """Tokens of a text; within some hundredths for English and code, a seventh for other languages."""
    if text.isascii():
        return _of_bytes(text.encode())
    rest, syllables = _SYLLABLES.subn(" ", text)
    rest, ideographs = _IDEOGRAPHS.subn(" ", rest)
    signs = rest.encode("utf-8", "replace").translate(None, _FOLLOWING)
    accented, foreign = _count(signs, _LATIN), _count(signs, _OTHERS)
    beside = (_ACCENTED - _LETTER) * accented + (_FOREIGN - _LETTER) * foreign
    return _of_bytes(signs) + beside + _SYLLABLE * syllables + _IDEOGRAPH * ideographs


def _of_bytes(signs: bytes) -> float:
    words, runs = b" " + signs.translate(_IN_WORDS), b" " + signs.translate(_IN_SIGNS)
    return (
        _WORD * words.count(b" x")
        + _LETTER * words.count(b"x")
        + _RUN * runs.count(b" x")
        + _SIGN * runs.count(b"x")
        + _DIGIT * _count(signs, _DIGITS)
        + _LINE * signs.count(b"\n")
    )


def _count(signs: bytes, among: bytes) -> int:
    return len(signs) - len(signs.translate(None, among))


_VARIABLES = frozenset({"instruction", "request", "rubric", "reference", "context", "metadata", "fence"})
PAIRWISE_VARIABLES = _VARIABLES | {"first", "second"}
POINTWISE_VARIABLES = _VARIABLES | {"response", "transcript", "low", "high"}
BEST_OF_VARIABLES = _VARIABLES | {"responses", "response"}

PAIRWISE_SHOWN = frozenset({"first", "second"})
POINTWISE_SHOWN = frozenset({"response"})
TRANSCRIPT_SHOWN = frozenset({"transcript"})
BEST_OF_SHOWN = frozenset({"responses"})

FENCE = "====="
"""Mark around each candidate; lengthened only when a value contains it."""


class _Environment(SandboxedEnvironment):
    """A sandbox in which no power of a number takes long: that is one step, which nothing cuts short."""

    intercepted_binops = frozenset(("**",))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int) and abs(left) > 1 and right > MAX_POWER:
            raise OverflowError(f"found a power of {right}, expected at most {MAX_POWER}")
        return super().call_binop(context, operator, left, right)


@cache
def jinja_environment() -> SandboxedEnvironment:
    return _Environment(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=False, trim_blocks=True
    )


@cache
def _compiled(text: str) -> Template:
    with _bounds():  # what is constant is computed here
        return jinja_environment().from_string(text)


_PLAIN = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.If, nodes.Test, nodes.Const),
    *(nodes.Assign, nodes.Getitem),
)
MAX_MEMORY, MAX_LONGER = 500_000_000, 1_000_000
"""Bytes that a template may take, and characters of a prompt beside ten times its values."""
MAX_SECONDS, MAX_POWER = 10.0, 1000
"""Time that a template may take, and the largest exponent in one."""


@contextmanager
def _bounds() -> Iterator[None]:
    with time_bound(MAX_SECONDS), memory_bound(MAX_MEMORY):
        yield


@cache
def _is_plain(text: str) -> bool:
    """Whether a template can not grow: it puts in values, and neither computes nor repeats."""
    return all(isinstance(node, _PLAIN) for node in jinja_environment().parse(text).find_all(nodes.Node))


@cache
def undeclared_variables(text: str) -> frozenset[str]:
    with _bounds():  # it compiles the template too
        return frozenset(meta.find_undeclared_variables(jinja_environment().parse(text)))


@dataclass(frozen=True)
class Message:
    """One message of a prompt, as it is sent."""

    role: str
    """`system` or `user`."""
    content: str

    @cached_property
    def json_content(self) -> str:
        """Its text as a canonical JSON string: as it is hashed, and as requests hold it."""
        return canonical_json(self.content)


@dataclass(frozen=True)
class PromptTemplate:
    text: str
    origin: str = field(default="built-in", compare=False)

    def check(self, allowed: frozenset[str]) -> frozenset[str]:
        try:
            named = undeclared_variables(self.text)
            _compiled(self.text)
        except TemplateSyntaxError as error:
            raise ConfigError(
                f"{self.origin}, line {error.lineno}: not a valid Jinja2 template ({error.message}); "
                "correct the template."
            ) from error
        except MemoryError as error:
            raise self._too_large() from error
        except TooSlowError as error:
            raise self._too_slow() from error
        except (RecursionError, SyntaxError) as error:
            raise ConfigError(
                f"{self.origin}: the template is nested too deeply ({_reason(error)}); simplify it."
            ) from error
        unknown = sorted(named - allowed)
        if unknown:
            raise ConfigError(
                f"{self.origin}: unknown variable {unknown[0]!r}; known here: {', '.join(sorted(allowed))}."
            )
        return named

    def render(self, values: Mapping[str, object]) -> str:
        filled = {**values, "fence": fence_for(values)}
        plain = _is_plain(self.text)
        try:
            with nullcontext() if plain else _bounds():
                text = _compiled(self.text).render(filled)
        except _NoColumnError as error:
            raise ConfigError(
                f"{self.origin}: shows column {error.args[0]!r}, which built-in texts do not have; leave out "
                "the probes that show them, or the column."
            ) from error
        except MemoryError as error:
            raise self._too_large() from error
        except TooSlowError as error:
            raise self._too_slow() from error
        except Exception as error:  # a template is a program: whatever it raises is its author's to mend
            raise ConfigError(
                f"{self.origin}: the template cannot be rendered ({_reason(error)}); correct the template."
            ) from error
        if not plain and len(text) > MAX_LONGER + 10 * sum(map(len, _texts([*values.values()]))):
            raise self._too_large()
        return text

    def _too_slow(self) -> ConfigError:
        return ConfigError(
            f"{self.origin}: the template takes more than {MAX_SECONDS:g} s, expected a prompt for a judge; "
            "correct the template."
        )

    def _too_large(self) -> ConfigError:
        return ConfigError(
            f"{self.origin}: the template takes more than {MAX_MEMORY / 1e6:.0f} MB, or makes a prompt that "
            "is 1 MB longer than its texts, expected a prompt for a judge; correct the template."
        )


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def fence_for(values: Mapping[str, object]) -> str:
    marked = [text for value in values.values() for text in _texts(value) if "=" in text]
    runs = [len(run) for text in marked for run in re.findall("=+", text)]
    longest = max(runs, default=0)
    return FENCE if longest < len(FENCE) else "=" * (longest + 1)


@dataclass(frozen=True)
class RenderedPrompt:
    messages: tuple[Message, ...]
    _hashes: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def body(self, decoding: str) -> str:
        messages = ",".join(
            f'{{"content":{message.json_content},"role":{_role(message.role)},"type":"Message"}}'
            for message in self.messages
        )
        return f'{{"decoding":{decoding},"messages":[{messages}]}}'

    def hash(self, decoding: str) -> str:
        if decoding not in self._hashes:
            self._hashes[decoding] = hash_json(self.body(decoding))
        return self._hashes[decoding]

    @cached_property
    def characters(self) -> int:
        return sum(len(message.content) for message in self.messages)

    @cached_property
    def tokens(self) -> float:
        return sum(expected_tokens(message.content) for message in self.messages)


_role = cache(canonical_json)


@dataclass(frozen=True)
class PromptInputs:
    request: str
    texts: tuple[str, ...]
    reference: str = ""
    context: str = ""
    metadata: str = ""
    """JSON as the stimulus has it."""


class _NoColumnError(Exception):
    pass


class _Row(dict[str, Any]):
    """Metadata of an item, with the columns of its row that prompts show."""

    def __missing__(self, key: str) -> str:
        raise _NoColumnError(key)


def render_prompt(
    templates: tuple[tuple[str, PromptTemplate], ...], asked: Task, shown: PromptInputs
) -> RenderedPrompt:
    values = _values(asked, shown)
    return RenderedPrompt(
        tuple(
            Message(role, template.render(values)) if "{" in template.text else _fixed_message(role, template)
            for role, template in templates
        )
    )


@lru_cache(maxsize=64)
def _fixed_message(role: str, template: PromptTemplate) -> Message:
    """The message of a template that names no value, such as most system prompts: one for all prompts."""
    return Message(role, template.render({}))


def _values(asked: Task, shown: PromptInputs) -> Mapping[str, Any]:
    values: dict[str, Any] = {
        "instruction": asked.instruction,
        "request": shown.request,
        "rubric": asked.rubric,
        "reference": shown.reference,
        "context": shown.context,
        "metadata": _Row(json.loads(shown.metadata) if shown.metadata else {}),
    }
    scale = asked.scale
    if isinstance(scale, Pairwise):
        values["first"], values["second"] = shown.texts
        return values
    if isinstance(scale, BestOf):
        listed = "\n\n".join(f"Response_{slot}:\n{text}" for slot, text in enumerate(shown.texts, start=1))
        return values | {"responses": shown.texts, "response": listed}
    low, high = (scale.low, scale.high) if isinstance(scale, Ordinal) else (0, 1)
    text = shown.texts[0]
    return values | {"response": text, "transcript": text, "low": low, "high": high}
