"""An answer that says no: one sentence, and nothing about what is served here."""

from __future__ import annotations

from html import escape

from starlette.responses import HTMLResponse, JSONResponse, Response

from steelyard.datasheet.words.text import capital

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steelyard: {status}</title><link rel="stylesheet" href="/static/style.css">
<link rel="stylesheet" href="/static/bench.css"></head>
<body><main class="alone"><p class="kind">Steelyard</p><h1 class="long">{sentence}</h1>
<p><a class="button" href="">Try again</a> <a class="button" href="/">Back to the start</a></p></main>
</body></html>
"""


def refusal(status: int, sentence: str) -> Response:
    """A page that says no."""
    return HTMLResponse(_PAGE.format(status=status, sentence=escape(capital(sentence))), status)


def refused(status: int, sentence: str, **more: object) -> Response:
    """The same for a script of our own pages."""
    return JSONResponse({"refused": sentence, **more}, status)
