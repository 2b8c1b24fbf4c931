"""One HTML document from a template: style sheet, theme switch and content security policy."""

from __future__ import annotations

import hashlib
import re
import sys
from base64 import b64encode
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from steelyard.core.content_hash import short_hash
from steelyard.core.text import capital, plural, pluralize
from steelyard.datasheet import glossary, numbers
from steelyard.datasheet.render.clauses import css_class, headword, state_of
from steelyard.datasheet.render.html.drawing.forest_plot import interval_bar, limit_scale

PACKAGE = "steelyard.datasheet.render.html"


def document(template: str, **content: Any) -> str:
    theme, behaviour = _source("theme.js"), _source("page.js")
    return _environment().get_template(template).render(
        **content,
        style=Markup(_source("style.css") + _source("evidence.css")),
        theme=Markup(theme),
        behaviour=Markup(behaviour),
        policy=_policy(theme, behaviour),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    return template_environment(
        PACKAGE,
        words=glossary.SYMBOLS,
        meanings=glossary.FINDINGS,
        marks=glossary.MARKS,
        state_classes=glossary.STATE_CLASSES,
        state_of=state_of,
        status_words=glossary.STATUS_WORDS,
        short_hash=short_hash,
        bar=interval_bar,
        scale=limit_scale,
        svg=Markup,
    )


@cache
def _source(name: str) -> str:
    return (files(PACKAGE) / name).read_text(encoding="utf-8")


def page_policy() -> str:
    """What a document may do, for a server that says so in a header too."""
    return f"{_policy(_source('theme.js'), _source('page.js'))}; frame-ancestors 'none'"


def _policy(*scripts: str) -> str:
    """Only the page's own scripts may run, whatever text the data contain."""
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    closed = "default-src 'none'; base-uri 'none'; form-action 'none'"
    return f"{closed}; style-src 'unsafe-inline'; script-src {allowed}"


class CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates lie where Python keeps compiled modules, with the rights of the program itself."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def with_code(text: str) -> Markup:
    """What stands between backticks as code, everything escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def template_environment(package: str, **names: Any) -> Environment:
    """The templates of a package: every value is escaped, and an undefined name raises an error."""
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=CompiledTemplates(str(files(package) / "templates" / "__pycache__")),
    )
    words = {"n": numbers, "counted": pluralize, "plural": plural, "capital": capital, "with_code": with_code}
    words |= {"css_class": css_class, "headword": headword}
    environment.globals.update(**words, metric_named=glossary.metric_named, **names)
    return environment
