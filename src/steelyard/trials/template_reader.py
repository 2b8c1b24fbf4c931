"""A user's template as Jinja2: names in the user's own braces become variables or columns of the data.

One rule for judges, authors and those who edit runs. A template with `{%`, `{#` or a known name in double
braces is Jinja2. Every other is a format string, whose names stand in single braces and whose doubled brace
is a brace. What stays unknown is refused, unless it stands in quotes or in a JSON object, or is a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property

from jinja2 import TemplateSyntaxError, nodes

from steelyard.core import field_names
from steelyard.core.content_hash import canonical_json
from steelyard.errors import ConfigError
from steelyard.trials.prompt import jinja_environment, undeclared_variables

JUDGE_NAMES = {"lowest_score": "{{ low }}", "highest_score": "{{ high }}"} | dict.fromkeys(
    ("rubric_id", "score_levels_table"), ""
)
"""Names in the harness's templates for judges, and what stands for them: a rubric says its levels itself."""

LABEL, METADATA = "label", "metadata"
_VARIABLES = {"response_1": "first", "response_2": "second", "messages": "transcript"}
"""Parts of an item whose variable has another name."""
_OF_ROWS = frozenset({"request", "reference", "context"})
"""Variables that only data fill: without a mapped column, one of the same name is meant."""
MOST_NAMED = 20

Load = Callable[[], tuple[Mapping[str, str], Collection[str]]]


@dataclass(frozen=True)
class DataColumns:
    """Columns of the data: those that are a part of an item, and those that only a prompt may show."""

    mapped: Mapping[str, str] = field(default_factory=dict)
    """Column to the part of an item that it is."""
    load: Load | None = None
    """Reads the file: columns to parts, and every column; not called before a name is looked for there."""

    @cached_property
    def _loaded(self) -> tuple[Mapping[str, str], Collection[str]]:
        return (self.mapped, ()) if self.load is None else self.load()

    @property
    def names(self) -> Collection[str]:
        return self._loaded[1]

    @property
    def others(self) -> list[str]:
        """Columns that are no part of an item."""
        return [name for name in self.names if name not in self._loaded[0]]

    def part(self, name: str) -> str | None:
        """The part that a mapped column is, by its own name or by one of the same words."""
        column = _match(name, self.mapped) or _match(name, self._loaded[0])
        return None if column is None else {**self._loaded[0], **self.mapped}[column]


def _match(name: str, columns: Collection[str]) -> str | None:
    if name in columns:
        return name
    alike = [column for column in columns if field_names.words_of(column) == field_names.words_of(name)]
    return alike[0] if len(alike) == 1 and field_names.words_of(name) else None


@dataclass(frozen=True)
class TemplateNames:
    variables: frozenset[str]
    others: Mapping[str, str] = field(default_factory=lambda: JUDGE_NAMES)
    """Names of the harness, and the Jinja2 that stands for them."""
    columns: DataColumns = DataColumns()
    literals: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    """Names that mean something in prompts beside this one, and are no usual name for a variable here."""

    def expression(self, name: str) -> str | None:
        """The value that a name means, in Jinja2; None where it means none, or is the label."""
        if name in self.literals:
            return None
        part = self.columns.part(name)
        variable = _VARIABLES.get(part or "", part)
        if part == LABEL or variable in self.variables:
            return None if part == LABEL else variable
        column = _match(name, self.columns.names)
        if name in self.variables and (column is None or name not in _OF_ROWS):
            return name
        if column is not None:
            return f"{METADATA}[{canonical_json(column)}]"
        meant = "" if name in self.elsewhere else field_names.known(name) or ""
        variable = _VARIABLES.get(meant, meant)
        return variable if variable in self.variables else None

    def jinja(self, name: str) -> str | None:
        """What stands for a name of a format string."""
        if name in self.others and name not in self.literals:
            return self.others[name]
        expression = self.expression(name)
        return None if expression is None else f"{{{{ {expression} }}}}"

    def is_label(self, name: str) -> bool:
        return name not in self.literals and self.columns.part(name) == LABEL

    def name_in(self, braces: str) -> str | None:
        """The name between two braces: one word, or the words of a column; None where it is text."""
        inner = braces.strip()
        if _NAME.fullmatch(inner):
            unspaced = inner == braces or self.jinja(inner) is not None
            return inner if unspaced else None
        if not inner or any(sign in inner for sign in "\"':"):
            return None
        return inner if inner in self.columns.mapped or inner in self.columns.names else None

    def nearest(self, name: str) -> str | None:
        """A variable or column that was probably meant; never taken without asking."""
        near = field_names.nearest(name, {*_VARIABLES, *self.variables, "response"})
        by_scale = [_VARIABLES.get(near or "", near)]
        by_scale += ["response", "first"] if near in ("response", "response_1", "response_2") else []
        return next((one for one in by_scale if one in self.variables), None) or self._typed(name)

    def _typed(self, name: str) -> str | None:
        shown = [each for each in self.columns.others if self.columns.part(each) != LABEL]
        return next(iter(get_close_matches(name, shown, n=1, cutoff=_TYPING_ERROR)), None)

    def is_typing_error(self, name: str) -> bool:
        synonyms = [
            word
            for variable in self.variables
            for word in field_names.SYNONYMS.get(variable, variable).split()
        ]
        known = [*synonyms, *self.columns.others]
        return bool(get_close_matches(name.lower(), known, n=1, cutoff=_TYPING_ERROR))

    def known_words(self, form: str) -> str:
        """The names that may stand there, in the form of the template."""
        variables = ", ".join(form % name for name in sorted(self.variables - {METADATA}))
        usual = " (or a usual name for it)" if "request" in self.variables else ""
        columns = [form % name for name in self.columns.others[:MOST_NAMED]]
        return variables + usual + (f", or a column of the data: {', '.join(columns)}" if columns else "")


_NAME = re.compile(r"[^\W\d]\w*")
_TYPING_ERROR = 0.8
_SINGLE = re.compile(
    r"(?P<formula>\\(?:[A-Za-z]{2,}|[pP])(?:\{\w*\})+|[_^]\{\w*\})|\{\{|\}\}|\{(?P<inner>[^{}\n]{1,200})\}"
)
"""A name alone in braces is `inner`; no doubled brace is one, nor an index, a power, or the argument of a
LaTeX command, which are a formula."""
_DOUBLE = re.compile(r"(?<!\{)\{\{-?\s*([^\W\d]\w*)\b(?!\s*[:,\"'])")
_EXPRESSION = re.compile(r"(?<!\{)\{\{\s*[^\W\d]\w*\s*(?:[.|\[][^{}]*)?\}\}|\{\{\s*[\"']\{")
"""What is a name of Jinja2, known or not, or a brace that it is to print."""
_OTHER_FORM = re.compile(r"([^\W\d]\w*)\s*(?:[.!\[].*|:[^\s,\"']+)")
"""A variable in another form, which a template of single braces would send as text: `x!r`, `x:>10`."""
_CODE = re.compile(r"[^\W\d]\w*(?:\.\w+|\[[^\]]*\]|\([^)]*\))+")
"""An expression of a program, whose values are put in by name here: `row["answer"]`, `answer.strip()`."""
_SHELL = re.compile(r"\$\{([^\W\d]\w*)\}|\$([^\W\d]\w*)(?![\w$])|%\(([^\W\d]\w*)\)s")
"""A name as shells and other templates write it; between two signs of dollars it is a formula."""
_OBJECT = re.compile(r"\{+\s*[\"']\w")
_QUOTED = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)")

_FRONT_MATTER = re.compile(
    r"\s*---[ \t]*\n(?:[ \t]*\n|[ \t#-][^\n{]*\n|[\w.-]+[ \t]*:[^\n{]*\n)+---[ \t]*(?:\n|$)"
)
"""Keys of YAML between two lines of dashes; a text between them, or a variable, is part of the prompt."""


def read_template(text: str, names: TemplateNames, origin: str, notes: list[str] | None = None) -> str:
    """The template as Jinja2; `notes` takes what is not sent, or sent as it stands."""
    said = [] if notes is None else notes
    if (front := _FRONT_MATTER.match(text)) is not None:
        text = text[front.end() :]
        said.append(f"{origin}: begins with front matter (--- … ---), which is not sent.")
    doubled = [found[1] for found in _DOUBLE.finditer(text)]
    jinja = re.search(r"\{[%#]", text) or any(names.jinja(name) is not None for name in doubled)
    single = not jinja and any(names.jinja(name) is not None for name in _single_names(text, names))
    reader = _Reader(names, origin, said, bool(single), "{{ %s }}" if jinja else "{%s}")
    reader.check_other_signs(text)
    if jinja or not (single or _EXPRESSION.search(text) is None):
        return reader.jinja(text)
    return reader.format_string(text)


def _single_names(text: str, names: TemplateNames) -> Iterator[str]:
    for found in _SINGLE.finditer(text):
        name = None if found["inner"] is None else names.name_in(found["inner"])
        if name is not None:
            yield name


@dataclass(frozen=True)
class _Reader:
    names: TemplateNames
    origin: str
    notes: list[str]
    single: bool
    """It is a format string with a known name."""
    form: str

    def check_other_signs(self, text: str) -> None:
        """Refuse a known name in the form of another language, of which a sign or all would be sent."""
        for sign in _SHELL.finditer(text):
            name = next(filter(None, sign.groups()))
            if self.names.jinja(name) is not None:
                raise self._not_alone(sign[0], name)

    def format_string(self, text: str) -> str:
        quoted = _literal_spans(text)
        open_pairs = 0

        def in_jinja(sign: re.Match[str]) -> str:
            nonlocal open_pairs
            if sign["formula"] is not None:
                return self._formula(sign[0])
            if sign["inner"] is not None:
                name = self.names.name_in(sign["inner"])
                stands_for = None if name is None else self.names.jinja(name)
                if stands_for is None:
                    self._check_text(name, sign, quoted)
                return sign[0] if stands_for is None else stands_for
            if sign[0] == "}}" and not open_pairs:
                return sign[0]  # two objects of JSON end here
            if sign[0] == "{{":
                self._check_doubled(text, sign.start())
            open_pairs += 1 if sign[0] == "{{" else -1
            # A brace before another would begin an expression.
            return '{{ "{" }}' if sign[0] == "{{" and text[sign.end() :].startswith("{") else sign[0][0]

        return _SINGLE.sub(in_jinja, text)

    def jinja(self, text: str) -> str:
        """The text behind what its names mean; those that Jinja2 does not know itself are refused."""
        for part in _literal_parts(text):
            quoted = _literal_spans(part)
            for sign in _SINGLE.finditer(part):
                name = None if sign["inner"] is None else self.names.name_in(sign["inner"])
                if name is not None and (self.names.jinja(name) is not None or sign["inner"] == name):
                    self._check_text(name, sign, quoted)
        try:
            undeclared = sorted(undeclared_variables(text) - self.names.variables)
        except Exception:  # `PromptTemplate.check` says what is wrong
            return text
        shadowed = sorted(_OF_ROWS & undeclared_variables(text))
        sets = []
        for name in (*undeclared, *shadowed):
            expression = self.names.expression(name)
            if expression is None and name in self.names.literals:
                expression = canonical_json(f"{{{{ {name} }}}}")
            if expression is None:
                raise self._unknown_variable(name)
            sets += [] if expression == name else [f"{{% set {name} = {expression} +%}}"]
        return "".join(sets) + text

    def _formula(self, text: str) -> str:
        """A formula as it stands, but for the variables themselves."""
        own = {name: self.names.jinja(name) for name in (*self.names.variables, *self.names.others)}
        return re.sub(r"\{(\w+)\}", lambda sign: own.get(sign[1]) or sign[0], text)

    def _check_text(self, name: str | None, sign: re.Match[str], quoted: Collection[tuple[int, int]]) -> None:
        """Refuse what would be sent as it stands, unless it is meant so."""
        if name is None:
            inner = sign["inner"].strip()
            words = re.findall(r"[^\W\d]\w*", inner) if _CODE.fullmatch(inner) else []
            if (known_word := next(filter(self.names.jinja, words), None)) is not None:
                raise self._not_alone(sign[0], known_word)
            other = _OTHER_FORM.fullmatch(sign["inner"].strip()) if self.single else None
            if other is not None and (self.names.jinja(other[1]) or self.names.is_typing_error(other[1])):
                near = other[1] if self.names.jinja(other[1]) else self.names.nearest(other[1])
                raise self._not_alone(sign[0], str(near))
            return
        if name in self.names.literals:
            return
        known = self.names.jinja(name) is not None
        inside = any(start < sign.start() < end for start, end in quoted)
        if inside and not known and not self.names.is_typing_error(name):
            said = f"{self.origin}: {sign[0]} stands in quotes or in JSON, and is sent as it stands."
            self.notes.extend([said] if said not in self.notes else [])
            return
        raise self._unknown(name, known=known)

    def _check_doubled(self, text: str, start: int) -> None:
        """Refuse a name in double braces beside names in single ones, where a variable was meant."""
        found = _EXPRESSION.match(text, start)
        name = None if found is None else _DOUBLE.match(text, start)
        if found is None or name is None or name[1] in self.names.literals:
            return
        spaced = re.fullmatch(r"\{\{\s+[^\W\d]\w*\s+\}\}", found[0])
        near = self.names.nearest(name[1]) or ("request" if spaced and self.single else None)
        if near is not None and self.single:
            raise ConfigError(
                f"{self.origin}: found {found[0]} beside names in single braces, expected one form; write "
                f"{{{near}}}, or every name in double braces."
            )

    def _not_alone(self, found: str, name: str) -> ConfigError:
        meant = " (behind a dollar sign that is meant, after a space)" if found.startswith("${") else ""
        return ConfigError(
            f"{self.origin}: found {found}, expected a name alone in braces; write {self.form % name}{meant}."
        )

    def _unknown(self, name: str, *, known: bool) -> ConfigError:
        form, literal = self.form, f"{{{{{name}}}}}" if self.single else f'{{{{ "{{{name}}}" }}}}'
        if self.names.is_label(name):
            return ConfigError(
                f"{self.origin}: found {{{name}}}, the column of labels, expected a prompt without them; "
                f"remove it, or write {literal} for the text itself."
            )
        near = name if known else self.names.nearest(name)
        itself = f"{literal} (or --literal {name}) for the text itself"
        meant = f"did you mean {form % near}, or {itself}?"
        return ConfigError(
            f"{self.origin}: found {{{name}}}, expected one of {self.names.known_words(form)}; "
            + (meant if near else f"correct it, or write {itself}.")
        )

    def _unknown_variable(self, name: str) -> ConfigError:
        if self.names.is_label(name):
            return self._unknown(name, known=False)
        near = self.names.nearest(name)
        meant = f"; did you mean {near!r}?" if near else f"; correct it, or add --literal {name}."
        return ConfigError(
            f"{self.origin}: unknown variable {name!r}; known here: {self.names.known_words('%s')}{meant}"
        )


def _literal_parts(text: str) -> Iterator[str]:
    """What a Jinja2 template sends as it stands, but for what it marks as raw."""
    is_raw = False
    try:
        for _, kind, part in jinja_environment().lex(text):
            is_raw = kind == "raw_begin" or (is_raw and kind != "raw_end")
            if kind == "data" and not is_raw:
                yield part
    except TemplateSyntaxError:
        return  # `PromptTemplate.check` says what is wrong


def _literal_spans(text: str) -> list[tuple[int, int]]:
    """Where quotes and JSON objects begin and end."""
    spans = [found.span() for found in _QUOTED.finditer(text)]
    opened: list[int] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened and _OBJECT.match(text, start := opened.pop()):
            spans.append((start, brace.end()))
    return spans


def metadata_keys(templates: Iterable[str]) -> set[str]:
    """Keys of `metadata` that templates in Jinja2 show."""
    keys = set()
    for text in templates:
        if METADATA not in text:
            continue
        for node in jinja_environment().parse(text).find_all((nodes.Getitem, nodes.Getattr)):
            if getattr(getattr(node, "node", None), "name", None) == METADATA:
                key = node.attr if isinstance(node, nodes.Getattr) else getattr(node, "arg", None)
                key = getattr(key, "value", key)
                keys |= {key} if isinstance(key, str) else set()
    return keys
