"""The page: header, readings, summary, figures, every estimate, and how to read them."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import FINDINGS, INTERVALS, PROBES, term
from steelyard.datasheet.html.figures import figures
from steelyard.datasheet.html.interval_bar import interval_bar
from steelyard.datasheet.summary import summarise
from steelyard.metrics.estimate import Estimate

PACKAGE = "steelyard.datasheet.html"
WORDS = {"clear": "✓", "flagged": "!", "underpowered": "?", "measured": "·", "undefined": "–"}
"""Signs that stand beside the words, so that colour never carries the meaning alone."""


def render(datasheet: Datasheet) -> str:
    """One HTML document, the same for the same datasheet."""
    summary = summarise(datasheet)
    sheet = summary.datasheet
    theme, behaviour = _source("theme.js"), _source("page.js")
    return _environment().get_template("page.html.j2").render(
        sheet=sheet,
        summary=summary,
        figures=figures(summary),
        every=[(judge, _grouped(sheet, judge.name)) for judge in sheet.judges],
        metrics=_metrics(sheet),
        methods=_methods(sheet),
        findings=FINDINGS,
        style=Markup(_source("style.css")),
        theme=Markup(theme),
        behaviour=Markup(behaviour),
        policy=_policy(theme, behaviour),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(n=numbers, term=term, words=WORDS, bar=interval_bar, svg=Markup)
    return environment


@cache
def _source(name: str) -> str:
    return (files(PACKAGE) / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Only the page's own scripts may run, whatever text the data contain."""
    hashes = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    closed = "default-src 'none'; base-uri 'none'; form-action 'none'"
    return f"{closed}; style-src 'unsafe-inline'; script-src {allowed}"


def _grouped(datasheet: Datasheet, judge: str) -> list[tuple[str, list[Estimate]]]:
    """Estimates of a judge by probe, in the datasheet's order."""
    mine = [estimate for estimate in datasheet.estimates if estimate.judge == judge]
    order = list(dict.fromkeys(estimate.probe for estimate in mine))
    mine.sort(key=lambda estimate: order.index(estimate.probe))
    return [
        (PROBES.get(probe, probe.replace("_", " ").capitalize()), list(group))
        for probe, group in groupby(mine, key=lambda estimate: estimate.probe)
    ]


def _metrics(datasheet: Datasheet) -> list[tuple[str, str]]:
    names = dict.fromkeys(estimate.metric for estimate in datasheet.estimates)
    return [(term(name).label, term(name).meaning) for name in names if term(name).meaning]


def _methods(datasheet: Datasheet) -> list[tuple[str, str]]:
    names: dict[str, Any] = dict.fromkeys(
        interval.method for estimate in datasheet.estimates for interval in estimate.intervals
    )
    return [(name, INTERVALS.get(name, "described in the notes of its figures.")) for name in names]
