"""From a template to a page; every value is escaped, and nothing is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.core.text import replace_lone_surrogates
from steelyard.datasheet.render.html.document import template_environment
from steelyard.datasheet.words.glossary import probe_title
from steelyard.datasheet.words.text import escape_keeping_lines
from steelyard.version import __version__

_DATASHEET = "steelyard.datasheet.render.html"
ASSETS: Mapping[str, tuple[str, str, str]] = {
    "style.css": (_DATASHEET, "style.css", "text/css"),
    "evidence.css": (_DATASHEET, "evidence.css", "text/css"),
    "theme.js": (_DATASHEET, "theme.js", "text/javascript"),
    "page.js": (_DATASHEET, "page.js", "text/javascript"),
    "bench.css": ("steelyard.web", "static/bench.css", "text/css"),
    "review.js": ("steelyard.web", "static/review.js", "text/javascript"),
    "label.js": ("steelyard.web", "static/label.js", "text/javascript"),
    "words.js": ("steelyard.web", "static/words.js", "text/javascript"),
    "view.css": ("steelyard.web", "static/view.css", "text/css"),
    "view.js": ("steelyard.web", "static/view.js", "text/javascript"),
}
"""Name in an address to package, file and kind: nothing else is ever read for one."""


@cache
def environment() -> Environment:
    """The templates of the pages, and what they all may use."""
    return template_environment(
        "steelyard.web",
        version=__version__,
        shown=escape_keeping_lines,
        static="/static/",
        probe_title=probe_title,
    )


def page(request: Request, template: str, **content: Any) -> Response:
    """A template as a page, or as the part of one that a script asked for."""
    made = environment().get_template(template)
    return HTMLResponse(replace_lone_surrogates(made.render(csrf=request.scope.get("csrf", ""), **content)))


@cache
def asset_text(name: str) -> str:
    """The text of a style sheet or script."""
    package, path, _ = ASSETS[name]
    return (files(package) / path).read_text(encoding="utf-8")


async def asset(request: Request) -> Response:
    """A style sheet or a script, by its name in the table."""
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response("no such file", 404, media_type="text/plain")
    return Response(asset_text(name), media_type=f"{ASSETS[name][2]}; charset=utf-8")
