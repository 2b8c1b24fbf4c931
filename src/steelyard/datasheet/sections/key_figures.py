"""Key figures: the few numbers that carry a verdict, each with its limit, and the sentences beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion
from steelyard.datasheet.estimate_index import JudgeEstimates, MeritTest
from steelyard.datasheet.sections.remedies import NO_HELP, remedy_brief
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers, titles
from steelyard.datasheet.words.cue_names import cue_name
from steelyard.datasheet.words.glossary import metric_named, probe_label
from steelyard.datasheet.words.text import capital
from steelyard.metrics.common import FAILED_RATE, KAPPA, MERIT, UNREADABLE_RATE
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import BY_CHANCE, CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.instrument.worth_estimates import ALLOWED, WORTH
from steelyard.metrics.merit import LEVEL_AGREEMENT
from steelyard.metrics.metric import HIGH, LOW
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.run.cost import COST_PER_CALL
from steelyard.metrics.scores.against_labels import QWK
from steelyard.metrics.scores.repeats import FLEISS_KAPPA, ICC, SELF_AGREEMENT
from steelyard.metrics.scores.shares import FOLLOWED
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

MOST = 6
"""Figures of one judge that are shown first."""
FEW_NAMES = 2
"""Judges whose names a headline says; more are counted."""
MOST_COLUMNS = 6
"""Figures of a table of several judges."""
PARTS = ("stratum", "slot", "base_level", "edit", "place", "size", "of")
"""Conditions of figures that are parts of others."""
_GRAVITY = (FLAGGED, INCONCLUSIVE, CLEAR)
_HOW_RIGHT = (KAPPA.id, QWK.id, TARGET_SENSITIVITY.id)
_EXPECTED = (FOLLOWED.id, LEVEL_AGREEMENT.id)
_LOST = (UNREADABLE_RATE.id, FAILED_RATE.id)
_FIGURE = re.compile(r"(?<!\d)[:;] |, (?:[a-z ]+ )?[+−]?[\d.]+ [\[(]|, “")
"""Where the plain part of a sentence ends and its figures begin."""
_IN_BRACKETS = re.compile(r" \([^()]*\d[^()]*\)")
_ABOUT_IT = (
    titles.MERIT,
    titles.DARK_CURRENT,
    titles.NO_TIES,
    titles.POSITION,
    titles.NOISE,
    titles.SURFACE,
    titles.SENSITIVITY,
    titles.NATURAL_PAIRS,
    titles.ROTATION,
    titles.ACCURACY,
    titles.EXPECTED,
    titles.LENIENCY,
    titles.LENGTH,
    titles.RUNS,
    titles.REPEATABILITY,
)
"""Titles of reasons whose sentence begins with what the judge does."""


@dataclass(frozen=True)
class KeyFigure:
    estimate: Estimate
    title: str
    allowed: tuple[float, float]
    """From where to where the figure may lie; infinite where one side is free."""

    tested: bool = False
    """Flagged where a test excludes 0, though the interval may reach into the margin that would be fine."""
    part: str = ""
    """Which part of the evidence it is about, where its test is the one that decides: `at three steps …`."""

    @property
    def name(self) -> str:
        return f"{self.title} {self.part}".strip()

    @property
    def word(self) -> str:
        """`too high`, `too low`, `above 0`, `below 0`, `as noise`, `undecided` or `fine`."""
        if self.estimate.reading == BY_CHANCE:
            return "as noise"
        if self.estimate.status != FLAGGED:
            return "undecided" if self.estimate.status == INCONCLUSIVE else "fine"
        if self.tested:
            return "above 0" if (self.estimate.value or 0.0) > 0 else "below 0"
        low, high = self.allowed
        if not isfinite(low) or not isfinite(high):
            return "too high" if isfinite(high) else "too low"
        return "too high" if (self.estimate.value or 0.0) > (low + high) / 2 else "too low"

    @property
    def limit(self) -> str:
        """`at most 0.10`, `at least 0.80`, `fine: ±0.10`, `above 0.30`."""
        low, high = self.allowed
        if self.estimate.metric == MERIT.id:
            chance = "chance " if low == self.estimate.chance else ""
            return f"above {chance}{numbers.decimal(low)}"
        if isfinite(low) and isfinite(high):
            return f"{'fine:' if self.tested else 'within'} ±{numbers.decimal(high)}"
        if self.tested:
            return f"fine: ≤ {numbers.decimal(high)}"
        return f"at most {numbers.decimal(high)}" if isfinite(high) else f"at least {numbers.decimal(low)}"

    @property
    def count(self) -> str:
        """`62 of 120 calls`, or the calls where the figure is no share of them."""
        estimate, metric = self.estimate, metric_named(self.estimate.metric)
        if estimate.numerator is None or estimate.denominator is None or metric.signed:
            return pluralize(estimate.n_calls, "call")
        return numbers.times(estimate, estimate.unit)

    @property
    def domain(self) -> tuple[float, float]:
        """The scale on which the interval is drawn."""
        interval = self.estimate.interval
        ends = (self.estimate.value, *(() if interval is None else (interval.low, interval.high)))
        known = [abs(end) for end in (*ends, *self.allowed) if end is not None and isfinite(end)]
        furthest = max(1.0, *known)
        return (-furthest if metric_named(self.estimate.metric).signed else 0.0), furthest


@dataclass(frozen=True)
class JudgeRow:
    """One judge in the table of several: a figure or None for each column."""

    judge: str
    verdict: Conclusion | None
    figures: tuple[KeyFigure | None, ...]
    per_thousand: float | None
    """Dollars for a thousand calls; None where they cost nothing, or nobody knows."""


def key_figures(summary: Summary, judge: str) -> list[KeyFigure]:
    """Merit first, then what is beyond its limit, then what is undecided; in reading order."""
    every = _candidates(summary, judge)
    merit = [each for each in every if each.estimate.metric == MERIT.id]
    others = sorted((each for each in every if each not in merit), key=_severity)
    chosen = [*merit[:2], *others][:MOST]
    return [*merit[:2], *(each for each in every if each in chosen and each not in merit)]


def judge_rows(summary: Summary) -> tuple[list[str], list[JudgeRow]]:
    """The names of the columns, and every judge with its figures: those that tell the judges apart first."""
    figures = {judge.name: _candidates(summary, judge.name) for judge in summary.measured}
    wanted: Counter[tuple[str, str]] = Counter()
    for own in figures.values():
        for each in own:
            wanted[_address(each)] += {FLAGGED: 10, INCONCLUSIVE: 1}.get(each.estimate.status or "", 0)
            wanted[_address(each)] += 1000 if each.estimate.metric == MERIT.id else 0
    first = {address for address, _ in wanted.most_common(MOST_COLUMNS)}
    columns = {_address(each): each.title for own in figures.values() for each in own}
    columns = {address: name for address, name in columns.items() if address in first}
    columns = dict(sorted(columns.items(), key=lambda column: column[0][1] != MERIT.id))
    rows = []
    for judge in summary.measured:
        by_address = {_address(each): each for each in figures[judge.name]}
        cells = tuple(by_address.get(address) for address in columns)
        rows.append(JudgeRow(judge.name, summary.verdict(judge.name), cells, _cost(summary, judge.name)))
    return list(columns.values()), rows


def _cost(summary: Summary, judge: str) -> float | None:
    costs = [e for e in summary.datasheet.of(judge, COST_PER_CALL.id) if e.value and e.probe == "run"]
    costs = costs or [e for e in summary.datasheet.of(judge, COST_PER_CALL.id) if e.value]
    return 1000 * (costs[0].value or 0.0) if costs else None


def _address(figure: KeyFigure) -> tuple[str, str]:
    return figure.estimate.probe, figure.estimate.metric


def _severity(figure: KeyFigure) -> int:
    """Texts written for an answer, then flagged figures and how often the judge is right; lost calls last."""
    status, metric = figure.estimate.status or CLEAR, figure.estimate.metric
    if metric in _EXPECTED:
        return -1
    if status == FLAGGED or metric in _HOW_RIGHT:
        return 0
    return len(_GRAVITY) if metric in _LOST else _GRAVITY.index(status)


def _candidates(summary: Summary, judge: str) -> list[KeyFigure]:
    """Figures under the base prompt that have a status word: of each metric the gravest one."""
    chosen: dict[str, Estimate] = {}
    without_finding = _without_finding(JudgeEstimates(judge, summary.datasheet.look_up))
    for estimate in summary.datasheet.look_up.of_judge(judge):
        if (estimate.probe, estimate.metric) in without_finding:
            continue
        protocol = estimate.group.get("protocol", "base")
        if estimate.status not in _GRAVITY or protocol != "base" or not numbers.defined(estimate):
            continue
        if any(part in estimate.group for part in PARTS) or not _has_limit(estimate):
            continue
        place = f"{estimate.probe} {estimate.metric}" if estimate.metric == MERIT.id else estimate.metric
        known = chosen.get(place)
        if known is None or _more_severe(estimate, known):
            chosen[place] = estimate
    rates = [chosen.get(metric) for metric in _LOST]
    if all(rate is not None and not rate.numerator for rate in rates):
        del chosen[FAILED_RATE.id]  # one line says that no call was lost
    several = Counter(estimate.metric for estimate in chosen.values())
    judge_figures = JudgeEstimates(judge, summary.datasheet.look_up)
    rows = []
    for each in chosen.values():
        title = _title(each, several[each.metric] > 1)
        if each.metric == MERIT.id:
            rows.append(_of_merit(judge_figures.deciding_merit(each), title))
        else:
            shown = each if each.decides is None else replace(each, intervals=(each.decides,))
            rows.append(KeyFigure(shown, title, _allowed(each), _is_tested(each)))
    return rows


def _of_merit(test: MeritTest, title: str) -> KeyFigure:
    return KeyFigure(test.estimate, title, (test.limit, inf), part=test.part)


def _without_finding(figures: JudgeEstimates) -> set[tuple[str, str]]:
    """Figures of texts as they are that decide no finding here: a flag would contradict the verdict."""
    decides = figures.repeat_agreement()
    repeats = {SELF_AGREEMENT.id, FLEISS_KAPPA.id, ICC.id} - {decides and decides.metric}
    return {(NATURAL_PROBE, ACCURACY_GAIN.id), *((ORIGINAL, m) for m in (ACCURACY_GAIN.id, *repeats))}


def _more_severe(estimate: Estimate, known: Estimate) -> bool:
    """A pooled figure comes before its parts; of figures of several probes or cues the worst is shown."""
    if "cue" in estimate.group and "cue" in known.group:
        return _cue_severity(estimate) < _cue_severity(known)
    if estimate.probe == known.probe:
        return len(estimate.group) < len(known.group)
    return _GRAVITY.index(estimate.status or CLEAR) < _GRAVITY.index(known.status or CLEAR)


def _cue_severity(estimate: Estimate) -> tuple[int, float]:
    return _GRAVITY.index(estimate.status or CLEAR), -abs(estimate.value or 0.0)


def _title(estimate: Estimate, among_several: bool) -> str:
    metric = metric_named(estimate.metric)
    if estimate.group.get("delta") == 1:
        return f"{metric.short}, one step apart"
    if "cue" in estimate.group:
        return f"{metric.short}: {cue_name(estimate.group['cue'])}"
    own_probe = estimate.metric in ("excess_flip", "invariance") or among_several
    return f"{metric.short}: {probe_label(estimate.probe)}" if own_probe else metric.short


def _has_limit(estimate: Estimate) -> bool:
    """Whether the word rests on a limit, a margin or chance; that of a test of the fit does not."""
    metric = metric_named(estimate.metric)
    limit = metric.limit_in(estimate.group, estimate.probe)
    return limit is not None or metric.better is not None or metric.signed or metric.id == MERIT.id


def _is_tested(estimate: Estimate) -> bool:
    """Whether the word rests on a test against 0 and a margin, and not on a limit."""
    metric = metric_named(estimate.metric)
    no_limit = metric.limit_in(estimate.group, estimate.probe) is None
    return no_limit and metric.id not in (MERIT.id, WORTH.id) and metric.better != HIGH


def _allowed(estimate: Estimate) -> tuple[float, float]:
    metric = metric_named(estimate.metric)
    limit = metric.limit_in(estimate.group, estimate.probe)
    if limit is not None:
        return limit.allowed
    if estimate.metric == WORTH.id:
        return ALLOWED
    if metric.better == HIGH:
        return estimate.chance or 0.0, inf
    return (-inf, MARGIN) if metric.better == LOW else (-MARGIN, MARGIN)


# Sentences


def headline(summary: Summary) -> str:
    """What several judges amount to: `One of 4 judges shows no fault: gpt-4o`."""
    by_word: dict[str, list[str]] = {}
    for verdict in summary.datasheet.verdicts:
        by_word.setdefault(verdict.word, []).append(verdict.judge)
    total = len(summary.measured)
    for word, told in (
        (NO_FAULT, "no fault found in {} of {} judges"),
        (CARE, "none of {1} judges is without fault; {0} {2} usable with care"),
        (TOO_LITTLE, "too little data on {} of {} judges"),
        (UNFIT, "{} of {} judges unfit"),
    ):
        if names := by_word.get(word):
            text = told.format(len(names), total, "is" if len(names) == 1 else "are")
            few = f": {', '.join(names)}" if len(names) <= FEW_NAMES and len(names) < total else ""
            return capital(text + few) + ("" if word == UNFIT else _and_unfit(by_word.get(UNFIT, [])))
    return pluralize(total, "judge")


def _and_unfit(names: Sequence[str]) -> str:
    """The worst word, which a better one must not hide: `; planted/first is unfit`."""
    if not names:
        return ""
    who = ", ".join(names) if len(names) <= FEW_NAMES else f"{len(names)} others"
    return f"; {who} {plural(len(names), 'is', 'are')} unfit"


def counterpart(figure: KeyFigure, summary: Summary, judge: str) -> KeyFigure | None:
    """The same figure of a judge on another datasheet; None where it is not there."""
    wanted = figure.estimate
    for estimate in summary.datasheet.look_up.of_judge(judge):
        same = (estimate.probe, estimate.metric, estimate.group) == (
            wanted.probe,
            wanted.metric,
            wanted.group,
        )
        if same and numbers.defined(estimate):
            if estimate.metric == MERIT.id:
                own = JudgeEstimates(judge, summary.datasheet.look_up)
                whole = next((each for each in own.merits() if each.probe == estimate.probe), estimate)
                return _of_merit(own.deciding_merit(whole), figure.title)
            return KeyFigure(estimate, figure.title, _allowed(estimate), _is_tested(estimate))
    return None


def lead(verdict: Conclusion) -> str:
    """Why, in one plain sentence without figures in brackets."""
    parts = [(fact.title in _ABOUT_IT, plain_part(fact.sentence)) for fact in verdict.facts[:2]]
    if not parts:
        return ""
    (about_it, first), *rest = parts
    sentence = f"It {first}" if about_it else capital(first)
    if rest and rest[0][0] and about_it and len(first) + len(rest[0][1]) < 110:
        sentence += f" and {rest[0][1]}"
    return f"{sentence}."


def plain_part(sentence: str) -> str:
    return _FIGURE.split(_IN_BRACKETS.sub("", sentence))[0].rstrip(".")


def advice(summary: Summary, verdict: Conclusion) -> list[str]:
    """What to do, in a sentence or two: what follows, and the remedy that the same calls show to help."""
    remedy = remedy_brief(summary.datasheet, verdict.judge)
    parts = [verdict.so] if verdict.so else []
    if remedy.lower().startswith(NO_HELP.lower()):
        parts.append(f"{NO_HELP}.")
    elif remedy:
        parts.append(f"{capital(remedy)}.")
    return parts


def undecided(summary: Summary, judges: Iterable[str]) -> str:
    """`3 questions are undecided at this size: length, noise, strata`; empty where there are none."""
    names = set(judges)
    open_titles = [
        finding.title.lower().replace(", ", " under ")
        for finding in summary.datasheet.findings
        if finding.status == INCONCLUSIVE and finding.judge in names
    ]
    counted = Counter(open_titles)
    if not counted:
        return ""
    listed = ", ".join(
        f"{title} ({pluralize(number, 'judge')})" if len(names) > 1 else title
        for title, number in counted.items()
    )
    number = pluralize(len(counted), "question")
    return f"{number} {'is' if len(counted) == 1 else 'are'} undecided at this size: {listed}."
