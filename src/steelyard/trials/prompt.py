"""Prompts: Jinja2 templates, checked and rendered; values go in verbatim, once, and are never rendered again.

A rendered prompt is hashed once for all repeats and judges that put the question alike. Templates in the
style of `str.format`, such as those of the Judge Reliability Harness, become Jinja2: they name values as
`{response}`, write a brace of their own singly or doubly, and have no logic.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta, nodes
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from steelyard.core.bounds import TooSlowError, memory_bound, time_bound
from steelyard.core.content_hash import canonical_json, hash_json
from steelyard.errors import ConfigError
from steelyard.tasks.scale import BestOf, Ordinal, Pairwise
from steelyard.tasks.task import Task
from steelyard.trials.expected_tokens import expected_tokens
from steelyard.trials.presentation import Message

PAIRWISE_VARIABLES = frozenset({"instruction", "request", "rubric", "reference", "first", "second", "fence"})
POINTWISE_VARIABLES = frozenset(
    {"instruction", "request", "rubric", "reference", "response", "transcript", "low", "high", "fence"}
)
BEST_OF_VARIABLES = frozenset(
    {"instruction", "request", "rubric", "reference", "responses", "response", "fence"}
)

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
def _environment() -> SandboxedEnvironment:
    return _Environment(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=False, trim_blocks=True
    )


@cache
def _compiled(text: str) -> Template:
    with _bounds():  # what is constant is computed here
        return _environment().from_string(text)


_PLAIN = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.If, nodes.Test, nodes.Const)
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
    return all(isinstance(node, _PLAIN) for node in _environment().parse(text).find_all(nodes.Node))


@cache
def _variables(text: str) -> frozenset[str]:
    with _bounds():  # it compiles the template too
        return frozenset(meta.find_undeclared_variables(_environment().parse(text)))


_NO_COLUMNS: Mapping[str, str] = {}


@dataclass(frozen=True)
class PromptTemplate:
    text: str
    origin: str = field(default="built-in", compare=False)

    def check(self, allowed: frozenset[str], columns: Mapping[str, str] = _NO_COLUMNS) -> frozenset[str]:
        try:
            named = _variables(self.text)
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
            near = nearest_name(unknown[0], allowed, columns)
            meant = f"; did you mean {near!r}?" if near else "."
            raise ConfigError(
                f"{self.origin}: unknown variable {unknown[0]!r}; known here: "
                f"{', '.join(sorted(allowed))}{meant}"
            )
        return named

    def render(self, values: Mapping[str, object]) -> str:
        filled = {**values, "fence": fence_for(values)}
        plain = _is_plain(self.text)
        try:
            with nullcontext() if plain else _bounds():
                text = _compiled(self.text).render(filled)
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
    elif isinstance(value, (list, tuple)):
        for part in value:
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


JUDGE_NAMES = {"lowest_score": "{{ low }}", "highest_score": "{{ high }}"} | dict.fromkeys(
    ("rubric_id", "score_levels_table"), ""
)
"""Names in the harness's templates for judges, and what stands for them: a rubric says its levels itself."""

_NAME = r"([^\W\d]\w*)"
_BARE = re.compile(rf"\\(?:[A-Za-z]{{2,}}|[pP])(?:\{{\w*\}})+|[_^]\{{\w*\}}|\{{\{{|\}}\}}|\{{{_NAME}\}}")
"""A name alone in braces is the group; no doubled brace is one, nor an index, a power, or the argument of a
LaTeX command."""

_SPACED = re.compile(r"\{\{\s+[^\W\d]\w*\s+\}\}")
_DOUBLED = rf"(?<!\{{)\{{\{{\s*{_NAME}\s*(?:[.|\[][^{{}}]*)?\}}\}}"
_EXPRESSION = re.compile(rf"{_DOUBLED}|\{{\{{\s*[\"']\{{")
"""What is a name of Jinja2, known or not, or a brace that it is to print."""
_OTHER_FORM = re.compile(
    rf"{_DOUBLED}|(?<!\{{)\{{\s+{_NAME}\s*\}}|(?<!\{{)\{{{_NAME}(?:[.!\[][^{{}}]*|:[^{{}}\s,\"']+)\}}"
)
"""A variable in another form, which a template of single braces would send as text: `{{ x }}`, `{x!r}`."""

_FRONT_MATTER = re.compile(
    r"\s*---[ \t]*\n(?:[ \t]*\n|[ \t#-][^\n{]*\n|[\w.-]+[ \t]*:[^\n{]*\n)+---[ \t]*(?:\n|$)"
)
"""Keys of YAML between two lines of dashes; a text between them, or a variable, is part of the prompt."""


def read_template(
    text: str,
    allowed: frozenset[str],
    origin: str,
    columns: Mapping[str, str] = _NO_COLUMNS,
    others: Mapping[str, str] = JUDGE_NAMES,
    notes: list[str] | None = None,
) -> str:
    """A user's template as Jinja2: the one reader for judges, authors and those who edit runs.

    One with `{%`, `{#` or a known name in double braces is Jinja2. Every other is a format string, whose
    names stand in single braces and whose doubled brace is a brace; but where it has no known name at all, an
    unknown one in double braces is refused as Jinja2 refuses it. `others` are names of the harness and what
    stands for them; front matter is not sent, and `notes` says so.
    """
    if (front := _FRONT_MATTER.match(text)) is not None:
        text = text[front.end() :]
        if notes is not None:
            notes.append(f"{origin}: begins with front matter (--- … ---), which is not sent.")
    names = {name: f"{{{{ {name} }}}}" for name in sorted(allowed)} | dict(others)
    known = "|".join(names)
    jinja = re.search(rf"\{{[%#]|(?<!\{{)\{{\{{\s*(?:{known})\b", text) is not None
    single = not jinja and re.search(rf"\{{(?:{known})\}}", text) is not None
    if jinja or not (single or _EXPRESSION.search(text) is None):
        _check_braces(text, _literal_parts(text), allowed, single, origin, columns)
        return text
    _check_braces(text, [text], allowed, single, origin, columns, others)
    return _from_format_string(text, names)


def _check_braces(
    text: str,
    parts: Iterable[str],
    allowed: frozenset[str],
    single: bool,
    origin: str,
    columns: Mapping[str, str],
    others: Mapping[str, str] = _NO_COLUMNS,
) -> None:
    """Refuse a name alone in single braces that would be sent as it stands.

    `parts` are what is sent of the text; `single` says that it is a format string with a known name.
    """
    for found in _OTHER_FORM.finditer(text) if single else ():
        name = next(filter(None, found.groups()))
        near = nearest_name(name, allowed, columns) or ("request" if _SPACED.fullmatch(found[0]) else None)
        if near is not None:
            raise ConfigError(
                f"{origin}: found {found[0]} beside names in single braces, expected one form; write "
                f"{{{near}}}, or every name in double braces."
            )
    for name in (found[1] for part in parts for found in _BARE.finditer(part) if found[1]):
        if not (single and (name in allowed or name in others)):
            form = "{{ %s }}" if not single and re.search(r"\{[{%]", text) else "{%s}"
            literal = f"{{{{{name}}}}}" if single else f'{{{{ "{{{name}}}" }}}}'
            near = nearest_name(name, allowed, columns)
            meant = f"did you mean {form % near}, or {literal} for the text itself?"
            raise ConfigError(
                f"{origin}: found {{{name}}}, expected one of "
                f"{', '.join(form % one for one in sorted(allowed))}; "
                + (meant if near else f"correct it, or write {literal} for the text itself.")
            )


def _literal_parts(text: str) -> Iterator[str]:
    """What a Jinja2 template sends as it stands, but for what it marks as raw."""
    is_raw = False
    try:
        for _, kind, part in _environment().lex(text):
            is_raw = kind == "raw_begin" or (is_raw and kind != "raw_end")
            if kind == "data" and not is_raw:
                yield part
    except TemplateSyntaxError:
        return  # `PromptTemplate.check` says what is wrong


def _from_format_string(text: str, names: Mapping[str, str]) -> str:
    open_pairs = 0

    def in_jinja(sign: re.Match[str]) -> str:
        nonlocal open_pairs
        if sign[1] is not None:
            return names[sign[1]]
        if sign[0] == "}}" and not open_pairs:
            return sign[0]  # two objects of JSON end here
        open_pairs += 1 if sign[0] == "{{" else -1
        # A brace before another would begin an expression.
        return '{{ "{" }}' if sign[0] == "{{" and text[sign.end() :].startswith("{") else sign[0][0]

    return re.sub(rf"\{{({'|'.join(names)})\}}|\{{\{{|\}}\}}", in_jinja, text)


_SLOTS = {**dict.fromkeys(("a", "1", "first"), "first"), **dict.fromkeys(("b", "2", "second"), "second")}
"""Words that number a candidate: `answer_a`, `response2`."""

_MEANINGS = (
    (("reference",), "expected gold golden ideal truth target correct context"),
    (("low",), "min minimum lowest"),
    (("high",), "max maximum highest"),
    (("rubric",), "criteria criterion guidelines"),
    (("request",), "question input query prompt problem user"),
    (
        ("response", "first"),
        "answer answers output outputs completion generation prediction reply candidate candidates "
        "submission response responses model assistant text first second",
    ),
    (("transcript", "request"), "conversation dialogue messages trace trajectory"),
    (("instruction",), "instructions task"),
)
"""Variables, of which the first that the scale has is meant, and words for them; narrower ones come first."""

_TYPING_ERROR = 0.75
"""Likeness from which a name is taken for a typing error: `requst`, and not `score` for `correct`."""


def nearest_name(name: str, known: Collection[str], columns: Mapping[str, str]) -> str | None:
    """The variable that a name stands for; `columns` says which part of an item a column of the data is."""
    name = columns.get(name, name)
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    meant = [_SLOTS[word] for word in words if word in _SLOTS] + words
    meant += [one for variables, said in _MEANINGS if set(said.split()) & set(words) for one in variables]
    close = {word: variables for variables, said in _MEANINGS for word in said.split()}
    close |= {one: (one,) for one in known}
    for word in get_close_matches(name.lower(), close, n=3, cutoff=_TYPING_ERROR):
        meant += close[word]
    return next((one for one in meant if one in known), None)
