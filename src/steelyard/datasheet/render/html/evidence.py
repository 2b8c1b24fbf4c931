"""What shows a verdict best: the chart of its first cause, and two of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.datasheet.conclusion import WORDS, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.examples.example import FindingExample
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.render.html.drawing.chart import Chart

SHOWN = 2
_NOTHING, _QUALITY = ("decomposition", "axes"), ("psychometric", "heat-accuracy")
CHART_OF: Mapping[Cause, Sequence[str]] = {
    **dict.fromkeys((Cause.MERIT, Cause.SENSITIVITY, Cause.NEVER_RIGHT), _QUALITY),
    **dict.fromkeys((Cause.POSITION, Cause.NATURAL_PAIRS), ("position", "decomposition")),
    **dict.fromkeys((Cause.LENGTH, Cause.CUES), ("worth",)),
    Cause.SURFACE: ("worth", "position"),
    **dict.fromkeys((Cause.ACCURACY, Cause.EXPECTED, Cause.LENIENCY, Cause.SPREAD), ("heat-accuracy",)),
    **dict.fromkeys((Cause.ROBUSTNESS, Cause.REPEATABILITY), ("heat-invariance",)),
    **dict.fromkeys(
        (Cause.NO_TIES, Cause.AT_RANDOM, Cause.EMPTY_TEXTS, Cause.DARK_CURRENT, Cause.NOISE), _NOTHING
    ),
    Cause.RUNS: ("runs",),
    Cause.STRATA: ("strata",),
}
"""Charts that show a fault, the best first; where none of them is drawn, the first chart of the page."""


@dataclass(frozen=True)
class Evidence:
    judge: str = ""
    chart: Chart | None = None
    examples: Sequence[FindingExample] = ()


def evidence(sheet: Datasheet, charts: Sequence[Chart]) -> Evidence:
    """Of the judge with the gravest verdict, in the order of the page."""
    if not sheet.verdicts:
        return Evidence()
    verdict = min(sheet.verdicts, key=lambda each: WORDS.index(each.word))
    return Evidence(verdict.judge, _chart(verdict, charts), _examples(verdict, sheet.exhibits))


def _chart(verdict: Conclusion, charts: Sequence[Chart]) -> Chart | None:
    drawn = {chart.id: chart for chart in charts if chart.panels}
    wanted = [name for cause in verdict.causes for name in CHART_OF.get(cause, ())]
    return next((drawn[name] for name in (*wanted, *drawn) if name in drawn), None)


def _examples(verdict: Conclusion, exhibits: Sequence[FindingExample]) -> Sequence[FindingExample]:
    """Those of the first cause first, then others of the judge."""
    asked = [question_of(cause).name for cause in verdict.causes]
    mine = [each for each in exhibits if each.judge == verdict.judge]
    place = {name: number for number, name in reversed(list(enumerate(asked)))}
    return sorted(mine, key=lambda each: place.get(each.reading, len(asked)))[:SHOWN]
