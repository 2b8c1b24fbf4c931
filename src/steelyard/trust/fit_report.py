"""`trust fit` in words: what is accepted and promised, or what is missing; tables, page and trust.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from steelyard.core.content_hash import short_hash
from steelyard.core.text import percent, pluralize
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.datasheet.render.report import KeyEntry, Report, ReportTable
from steelyard.errors import ConfigError
from steelyard.metrics.stats.confidence import CURVE, SURE, CurvePoint
from steelyard.metrics.stats.intervals import Span
from steelyard.tasks.task import scale_name
from steelyard.trust.fit import Missing, Promise, Refusal, Stage, TrustFit, fit, parse_prices
from steelyard.trust.options import FitOptions
from steelyard.trust.run_verdicts import read_run
from steelyard.trust.trust_file import bindings, run_question, trust_body
from steelyard.trust.verdict_table import (
    AnswerWords,
    TableColumns,
    VerdictTable,
    read_verdict_table,
    signals_by_judge,
)

MEANINGS = (
    ("accepted from", "The lowest value of the signal at which an answer is accepted."),
    (
        "at most",
        "Upper limit of the share that is wrong among accepted answers: exact (Clopper–Pearson), one label "
        "of each independent item, walked down from two starts that were fixed before any label was seen.",
    ),
    ("AUROC", "Chance that a right answer has the higher signal than a wrong one; 0.5 is a coin."),
    (
        "calibration error",
        "Root mean square distance of the signal from the share that is right, less what chance adds.",
    ),
    (
        "Brier score",
        "Mean squared error of the signal as a chance of being right: miscalibration − discrimination + "
        "uncertainty.",
    ),
    ("wrong but sure", f"Wrong answers whose signal is {SURE:g} or more, of all wrong ones."),
)


def read_for_fit(options: FitOptions) -> VerdictTable:
    """The table or run that the options name, with the signals to choose from."""
    if options.file.is_dir():
        if options.people not in (None, "label"):
            raise ConfigError(
                f"{options.file}: no people {options.people!r} in a run folder, expected 'label', the labels "
                "of its data; leave --people out, or fit from a table."
            )
        given = signals_by_judge(options.judges, options.signals) if options.signals else None
        return read_run(options.file, options.judges, given)
    if not options.judges or options.people is None:
        lacking = (
            "--people COLUMN, people's labels" if options.judges else "--judge COLUMN, a judge's answers"
        )
        raise ConfigError(f"{options.file}: which columns are meant is not said, expected {lacking}; add it.")
    signals = signals_by_judge(options.judges, options.signals)
    if options.people in {*signals, *(name for names in signals.values() for name in names)}:
        raise ConfigError(
            f"--people: column {options.people!r} is also a judge or a signal, expected labels that neither "
            "of them saw; name another column."
        )
    wanted = TableColumns(signals, options.people, seed=options.seed)
    return read_verdict_table(options.file, wanted, options.reading)


def fit_report(options: FitOptions) -> tuple[Report, bool]:
    """The report, whose JSON is trust.json, and whether the promise is shown."""
    now, table = datetime.now(UTC), read_for_fit(options)
    only = None
    if options.only is not None:
        only = AnswerWords(options.reading.values, options.reading.scale).spell(options.only)
        if only not in table.known_answers:
            known = ", ".join(table.known_answers)
            raise ConfigError(
                f"--only: no judge gives {options.only!r}, expected one of {known}; correct it."
            )
    judges = list(table.judges)
    promise = Promise(options.error, options.confidence, only)
    fitted = fit(table, promise, parse_prices(options.prices, judges), options.seed)
    jury = [name for stage in fitted.stages for name in stage.signal.jury]
    asked = list(dict.fromkeys([*judges, *jury]))
    found, question = run_question(options.file, asked) if options.file.is_dir() else (None, None)
    scale = options.reading.scale if found is None else scale_name(found)
    prints, expires = bindings(options, asked, scale, now)
    refused = None if fitted.refusal is None else refusal_words(fitted, fitted.refusal)
    about = {"people": options.people, "scale": scale, "values": options.reading.values, "question": question}
    body = trust_body(fitted, refused, prints, expires, about, now)
    report = Report(
        kind="trust",
        title=title(fitted),
        lead=lead(fitted),
        facts=[
            ("source", Path(table.name).name),
            ("verdicts", f"{len(table.items):,}"),
            ("labels", f"{int(table.labelled.sum()):,}"),
            ("promised error", f"at most {percent(promise.error)}"),
            ("confidence", percent(promise.confidence)),
        ],
        plot=CurvePlot(fitted),
        tables=_tables(fitted),
        notes=_notes(fitted, prints, expires),
        meanings=MEANINGS,
        body=body,
    )
    return report, fitted.refusal is None


def title(fitted: TrustFit) -> str:
    if fitted.refusal is not None:
        return f"No promise of at most {percent(fitted.promise.error)} wrong"
    return f"Accept {percent(round(fitted.share, 3))}, at most {percent(fitted.promise.error)} wrong"


def promise_words(promise: Promise) -> str:
    wrong = (
        "differ from people's" if promise.only is None else f"are {promise.only!r} where people say otherwise"
    )
    return f"at most {percent(promise.error)} {wrong}, with a confidence of {percent(promise.confidence)}"


def lead(fitted: TrustFit) -> str:
    if fitted.refusal is not None:
        return f"No promise: {refusal_words(fitted, fitted.refusal)}."
    size = pluralize(len(fitted.table.items), "verdict")
    keep = [stage for stage in fitted.stages if stage.threshold is not None]
    parts = [f"{stage.judge} where {stage.signal.name} is at least {_value(stage)}" for stage in keep]
    people = percent(round(1 - fitted.share, 3))
    return (
        f"Accept {percent(round(fitted.share, 3))} of these {size}: {', else '.join(parts)}; people answer "
        f"the other {people}. Of answers accepted so, {promise_words(fitted.promise)}."
    )


def _value(stage: Stage) -> str:
    return "–" if stage.threshold is None else f"{stage.threshold.value:.4g}"


def refusal_words(fitted: TrustFit, refusal: Refusal) -> str:
    promise = fitted.promise
    shown = f"of accepted answers {promise_words(promise)}, is not shown at any threshold"
    tested = len(fitted.testing)
    match refusal.missing:
        case Missing.LABELS:
            best = f"about {refusal.labels:,} of independent items, where {tested:,} were tested"
            return f"that {shown}; missing are labels: {best}"
        case Missing.SIGNAL:
            return (
                f"that {shown}; missing is a signal that tells right from wrong answers: name another with "
                "--signal"
            )
    return (
        f"that {shown}; the surest answers are wrong too often: take another judge or prompt, or promise "
        "less with --error"
    )


def _tables(fitted: TrustFit) -> list[ReportTable]:
    rows = []
    for stage in fitted.stages:
        kept = stage.threshold
        seen = (f"{stage.reached:,}", f"{stage.accepted:,}")
        said = ("", "") if kept is None else (f"{kept.wrong:,} of {kept.accepted:,}", f"{kept.bound:.3f}")
        rows.append((f"{stage.judge}: {stage.signal.name}", _value(stage), *seen, *said))
    header = ("judge: signal", "accepted from", "verdicts", "accepted", "wrong, of labels", "at most")
    made = [ReportTable("Thresholds", header, rows)]
    quality, parts = [], []
    for stage in fitted.stages:
        for each in fitted.quality[stage.judge]:
            name = f"{stage.judge}: {each.signal}"
            quality.append(
                (
                    name,
                    f"{each.labels:,}",
                    _limited(each.auroc, each.auroc_limits),
                    _limited(each.calibration_error, each.calibration_limits),
                    "" if each.sure_and_wrong is None else "{:,} of {:,}".format(*each.sure_and_wrong),
                )
            )
            if each.brier is not None:
                parts.append((name, *(f"{value:.3f}" for value in vars(each.brier).values())))
    made.append(
        ReportTable(
            "Does it know when it is wrong?",
            ("judge: signal", "labels", "AUROC [95 %]", "calibration error [95 %]", "wrong but sure"),
            quality,
        )
    )
    if parts:
        head = ("judge: signal", "Brier score", "miscalibration", "discrimination", "uncertainty")
        made.append(ReportTable("Brier score in its parts", head, parts, on_page_only=True))
    if len(fitted.routes) > 1 or fitted.routes[0].dollars is not None:
        made.append(_routes(fitted))
    return made


def _routes(fitted: TrustFit) -> ReportTable:
    priced = fitted.routes[0].dollars is not None
    rows = []
    for number, route in enumerate(fitted.routes):
        name = " → ".join((*route.judges, "people")) + (" (fitted)" if not number else "")
        cost = (f"${route.dollars:,.2f}",) if route.dollars is not None else ()
        rows.append((name, percent(round(route.accepted, 3)), percent(round(route.shares[-1], 3)), *cost))
    header = ("route", "accepted", "to people", *(("per 1,000 verdicts",) if priced else ()))
    return ReportTable("Routes at the same promise", header, rows)


def _limited(value: float | None, limits: Span | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if limits is None else f"{value:.3f} [{limits[0]:.3f}, {limits[1]:.3f}]"


def _notes(fitted: TrustFit, prints: dict[str, str], expires: datetime | None) -> list[str]:
    table, noun = fitted.table, "task" if any(fitted.table.tasks) else "item"
    labels, units = int(table.labelled.sum()), pluralize(fitted.units, noun)
    said = [
        "Assumed: further verdicts are of the same judges on the same kind of items as the labelled ones, "
        "and those were drawn at random; where the mix changes the promise ends. Watch it with `steelyard "
        "trust check`."
    ]
    if not table.has_names:
        said.append(
            "No column names the items, so each row counts as one of its own. Rows on one item are no "
            "further evidence: where there are such, name its column with --columns item=COLUMN."
        )
    if table.set_aside:
        said.append(
            f"Items were drawn at uneven odds: {table.set_aside:,} labels of likelier ones were set aside "
            "by the seed, so that the others are an even draw."
        )
    if labels > fitted.units:
        taken, wrong = int((fitted.accepted & table.labelled).sum()), int(fitted.wrong.sum())
        every = f" Of all {taken:,} labelled answers that it accepts {wrong:,} are wrong." if taken else ""
        said.append(
            f"{labels:,} labels lie in {units}: one verdict of each, drawn by the seed, counts, so the "
            f"promise weighs all {noun}s alike.{every}"
        )
    if fitted.chosen_on:
        said.append(
            f"Signals were chosen on {fitted.chosen_on:,} of {units} with labels; the promise was tested on "
            f"the other {len(fitted.testing):,}."
        )
    for stage in fitted.stages:
        lost = int(np.isnan(stage.signal.values).sum() + (~table.judges[stage.judge].answered).sum())
        if lost:
            said.append(f"{stage.judge}: verdicts without an answer or a signal are never accepted.")
        if stage.signal.calls is not None:
            calls = pluralize(stage.signal.calls, "call")
            said.append(f"{stage.judge}: an answer with its signal {stage.signal.name} takes {calls}.")
    if any("tie" in judge.answers for judge in table.judges.values()):
        said.append("A tie is an answer: it is wrong where people chose one of the two.")
    if len(fitted.stages) > 1:
        judges = pluralize(len(fitted.stages), "judge")
        said.append(
            f"Each of {judges} has its part of the promise, and is tested on what the ones before it left. "
            "The other routes are for comparison: who picks one after reading them fits it alone anew."
        )
    tied = [
        f"{stage.judge} {short_hash(prints[stage.judge])}" for stage in fitted.stages if stage.judge in prints
    ]
    untied = [stage.judge for stage in fitted.stages if stage.judge not in prints]
    if tied:
        said.append(f"Tied to fingerprints: {', '.join(tied)}.")
    if untied:
        said.append(
            f"Tied to no fingerprint: {', '.join(untied)}. `steelyard.trusted` refuses it; add --certificate "
            "or --bind."
        )
    day = "with no certificate: never" if expires is None else expires.date().isoformat()
    return [*said, f"Expires {day}."]


WIDTH, NARROW_WIDTH, HEIGHT = 520, 250, 260
SIGNS = (("circle", "●"), ("square", "■"), ("triangle-up", "▲"), ("diamond", "◆"))
COLOURS = 8


@dataclass(frozen=True)
class CurvePlot:
    """Error among the accepted by the share accepted, with its band, of each judge alone."""

    fitted: TrustFit

    @property
    def title(self) -> str:
        return "How often accepted answers are wrong, by how many are accepted"

    @property
    def caption(self) -> str:
        first, level = self._first, percent(self.fitted.promise.confidence)
        ring = "" if first is None else f"A ring marks the threshold of {first.judge}. "
        return (
            "Each judge alone, from its surest answers to all of them, on the labels that test the promise. "
            f"The bars hold at all {len(CURVE)} shares together with {level}. {ring}Below the dashed line "
            "the promise would be kept on these labels; it is made only where the bound allows it."
        )

    @property
    def key(self) -> Sequence[KeyEntry]:
        named = [KeyEntry(SIGNS[n % len(SIGNS)][1], _role(n), name) for n, name in enumerate(self._curves)]
        return [*named, KeyEntry("┄", "muted", f"the promised error, {self.fitted.promise.error:g}")]

    def draw(self, *, narrow: bool = False) -> str:
        width, promised = NARROW_WIDTH if narrow else WIDTH, self.fitted.promise.error
        highest = max((point.high for curve in self._curves.values() for point in curve), default=1.0)
        x = Scale(0, 1, width)
        y = Scale(0, min(1.0, max(2 * promised, highest)), HEIGHT, upward=True)
        line = [(0.0, y(promised)), (x(1), y(promised))]
        drawn = [svg.draw_line(line, role="muted", width=1.2, dash=(4, 3))]
        for number, (stage, points) in enumerate(zip(self.fitted.stages, self._curves.values(), strict=True)):
            kept = stage.threshold if stage is self._first else None
            aside = 5.0 * (number - (len(self._curves) - 1) / 2)
            drawn += _draw_curve(points, number, aside, x, y)
            if kept is not None:
                at = x(kept.accepted / len(self.fitted.testing)) + aside, y(kept.wrong / kept.accepted)
                sign, role = SIGNS[number % len(SIGNS)][0], _role(number)
                drawn.append(
                    svg.draw_marker(sign, role=role, at=at, size=180, hollow=True, edge=2, outline=role)
                )
        return draw(
            drawn,
            width=width,
            height=HEIGHT,
            title=self.title,
            label=self._description,
            x=Axis(x, "share of the verdicts accepted", (0, 0.2, 0.4, 0.6, 0.8, 1)),
            y=Axis(y, "wrong among the accepted"),
        )

    @property
    def _curves(self) -> dict[str, list[CurvePoint]]:
        stages, curves = self.fitted.stages, self.fitted.curves
        return {f"{stage.judge} by {stage.signal.name}": curves[stage.judge] for stage in stages}

    @property
    def _first(self) -> Stage | None:
        """The first judge that accepts anything: all verdicts reach it, as they do its curve."""
        return next((stage for stage in self.fitted.stages if stage.threshold is not None), None)

    @property
    def _description(self) -> str:
        lines = []
        for name, points in self._curves.items():
            said = [
                f"{p.share:.2f} accepted, {p.value:.3f} wrong [{p.low:.3f}, {p.high:.3f}]" for p in points
            ]
            lines.append(f"{name}: {'; '.join(said)}")
        return ". ".join(lines) + "."


def _role(number: int) -> str:
    return f"series-{number % COLOURS + 1}"


def _draw_curve(
    curve: Sequence[CurvePoint], number: int, aside: float, x: Scale, y: Scale
) -> list[svg.SvgElement]:
    """Marks with their bars, moved aside so that those of several curves do not hide each other."""

    def place(share: float, error: float) -> tuple[float, float]:
        return x(share) + aside, y(min(y.high, error))

    role, sign = _role(number), SIGNS[number % len(SIGNS)][0]
    points = [place(point.share, point.value) for point in curve]
    drawn = [svg.error_bar(place(p.share, p.low), place(p.share, p.high), role) for p in curve]
    if len(points) > 1:
        drawn.append(svg.draw_line(points, role=role, width=2))
    return drawn + [svg.draw_marker(sign, role=role, at=point, size=45) for point in points]
