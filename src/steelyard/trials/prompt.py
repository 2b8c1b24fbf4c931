"""Prompts: Jinja2 templates, checked and rendered; values go in verbatim, once, and are never rendered again.

A rendered prompt is hashed once for all repeats and judges that put the question alike. Templates in the
style of `str.format`, such as those of the Judge Reliability Harness, become Jinja2: they name values as
`{response}`, write a brace of their own singly or doubly, and have no logic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from steelyard.core.content_hash import canonical_json, hash_json
from steelyard.core.memory_bound import memory_bound
from steelyard.errors import ConfigError
from steelyard.tasks.scale import BestOf, Ordinal, Pairwise
from steelyard.tasks.task import Task
from steelyard.trials.expected_tokens import expected_tokens
from steelyard.trials.presentation import Message
from steelyard.trials.prompt_names import nearest_name

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


@cache
def _environment() -> SandboxedEnvironment:
    return SandboxedEnvironment(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=False, trim_blocks=True
    )


@cache
def _compiled(text: str) -> Template:
    with memory_bound(MAX_MEMORY):  # what is constant is computed here
        return _environment().from_string(text)


_PLAIN = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.If, nodes.Test, nodes.Const)
MAX_MEMORY, MAX_LONGER = 500_000_000, 1_000_000
"""Bytes that a template may take, and characters of a prompt beside ten times its values."""


@cache
def _is_plain(text: str) -> bool:
    """Whether a template can not grow: it puts in values, and neither computes nor repeats."""
    return all(isinstance(node, _PLAIN) for node in _environment().parse(text).find_all(nodes.Node))


@cache
def _variables(text: str) -> frozenset[str]:
    with memory_bound(MAX_MEMORY):  # it compiles the template too
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
            with nullcontext() if plain else memory_bound(MAX_MEMORY):
                text = _compiled(self.text).render(filled)
        except MemoryError as error:
            raise self._too_large() from error
        except Exception as error:  # a template is a program: whatever it raises is its author's to mend
            raise ConfigError(
                f"{self.origin}: the template cannot be rendered ({_reason(error)}); correct the template."
            ) from error
        if not plain and len(text) > MAX_LONGER + 10 * sum(map(len, _texts([*values.values()]))):
            raise self._too_large()
        return text

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


CACHE_SIZE = 16_384
"""Rendered prompts kept for judges and repeats that are still to come; trials hold theirs all the same."""


@dataclass(frozen=True)
class RenderedPrompt:
    messages: tuple[Message, ...]
    _hashes: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def body(self, decoding: str) -> str:
        return f'{{"decoding":{decoding},"messages":{self._canonical}}}'

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

    @property
    def _canonical(self) -> str:
        return f"[{','.join(_spelled(message) for message in self.messages)}]"


def _spelled(message: Message) -> str:
    return f'{{"content":{message.json_content},"role":{_role(message.role)},"type":"Message"}}'


_role = cache(canonical_json)


@dataclass(frozen=True)
class PromptInputs:
    request: str
    texts: tuple[str, ...]
    reference: str = ""


@lru_cache(maxsize=CACHE_SIZE)
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


_OTHER_NAMES = {"lowest_score": "low", "highest_score": "high"}

_NAMES = {
    **{name: name for name in PAIRWISE_VARIABLES | POINTWISE_VARIABLES | BEST_OF_VARIABLES},
    **_OTHER_NAMES,
}

_JINJA = re.compile(r"\{%|\{\{\s*(?:" + "|".join(_NAMES) + r")\b")

_EMPTY_NAMES = frozenset({"rubric_id", "score_levels_table"})
"""Names in the harness's templates for agents that hold nothing here: a rubric says its levels itself."""

_SIGNS = re.compile(r"\{(" + "|".join((*_NAMES, *_EMPTY_NAMES)) + r")\}|\{\{|\}\}|\{#")

_LITERALS = {"{{": "{", "}}": "}", "{#": '{{ "{#" }}'}


_BARE = re.compile(r"\\(?:[A-Za-z]{2,}|[pP])(?:\{\w*\})+|[_^]\{\w*\}|\{\{|\}\}|\{([^\W\d]\w*)\}")
"""A name alone in braces is the group; no doubled brace is one, nor an index, a power, or the argument of a
LaTeX command."""


_SPACED = re.compile(r"\{\{\s+[^\W\d]\w*\s+\}\}")
_NAME = r"([^\W\d]\w*)"
_OTHER_FORM = re.compile(
    rf"\{{\{{\s*{_NAME}\s*(?:[.|\[][^{{}}]*)?\}}\}}"
    rf"|(?<!\{{)\{{\s+{_NAME}\s*\}}|(?<!\{{)\{{{_NAME}(?:[.!\[][^{{}}]*|:[^{{}}\s,\"']+)\}}"
)
"""A variable in another form, which a template of single braces would send as text: `{{ x }}`, `{x!r}`."""


def check_braces(
    text: str,
    allowed: frozenset[str],
    origin: str,
    columns: Mapping[str, str] = _NO_COLUMNS,
    *,
    jinja: bool = False,
) -> None:
    """Refuse a name alone in single braces that would be sent as it stands.

    `jinja` says that the text is never read as a template of single braces.
    """
    single = not jinja and _has_single_braces(text)
    for found in _OTHER_FORM.finditer(text) if single else ():
        name = next(filter(None, found.groups()))
        near = nearest_name(name, allowed, columns) or ("request" if _SPACED.fullmatch(found[0]) else None)
        if near is not None:
            raise ConfigError(
                f"{origin}: found {found[0]} beside names in single braces, expected one form; write "
                f"{{{near}}}, or every name in double braces."
            )
    for part in [text] if single else _literal_parts(text):
        for name in (found[1] for found in _BARE.finditer(part) if found[1]):
            if not (single and (name in _EMPTY_NAMES or _NAMES.get(name) in allowed)):
                form = "{{ %s }}" if jinja or (not single and re.search(r"\{[{%]", text)) else "{%s}"
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


def _has_single_braces(text: str) -> bool:
    return not _JINJA.search(text) and any(f"{{{name}}}" in text for name in _NAMES)


def as_jinja(text: str) -> str:
    """A template of single braces in our own form; every other text as it is."""
    if not _has_single_braces(text):
        return text
    open_pairs = 0

    def in_jinja(sign: re.Match[str]) -> str:
        nonlocal open_pairs
        if sign[1] is not None:
            return "" if sign[1] in _EMPTY_NAMES else f"{{{{ {_NAMES[sign[1]]} }}}}"
        if sign[0] == "}}" and not open_pairs:
            return sign[0]  # two objects of JSON end here
        open_pairs += {"{{": 1, "}}": -1}.get(sign[0], 0)
        return _LITERALS[sign[0]]

    return _SIGNS.sub(in_jinja, text)
