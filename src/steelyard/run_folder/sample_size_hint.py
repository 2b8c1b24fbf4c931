"""What may come next for a judge: rows to label (sample size hint), or its remedy as a judge to measure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from operator import itemgetter

import numpy as np
import yaml

from steelyard.core.text import pluralize, round_up
from steelyard.datasheet.conclusion import CARE, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.numbers import decimal, defined
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.more_data import LABELLED, MOST_ROWS
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.sections.remedies import remedy_for, repeats_for
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN, ERROR_GAIN
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import INCONCLUSIVE
from steelyard.metrics.merit import LEVEL_AGREEMENT
from steelyard.metrics.pairs.choices import LONGER_ONLY, SHORTER_ONLY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import ACCURACY, KAPPA, MERIT
from steelyard.metrics.run.agent_runs import FALSE_ALARMS, MISSED_FAILURES
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.against_labels import AGREE_CONSTANT, CONSTANT_LABELS, QWK
from steelyard.metrics.scores.edited_texts import ACCEPTED, EDITED_RUNS, FEW_TEXTS, LEAST_ACCEPTED, WRITTEN
from steelyard.metrics.scores.leniency import LENIENCY
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, FOLLOWED
from steelyard.metrics.stats.sample_size import half_width
from steelyard.stimuli.brief import RUN_FAIL, RUN_PASS
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL
from steelyard.study.composite_judges import CompositeJudge, Given
from steelyard.study.planner import Plan
from steelyard.study.study import Study
from steelyard.trials.judge import Judge
from steelyard.trials.trials import CallCount

FIRST_ROWS = 100
"""Rows to label where none is labelled."""
EXPECTED = 0.8
"""Accuracy that a judge is expected to have before anything is known."""
GAINS = (ACCURACY_GAIN.id, ERROR_GAIN.id)
"""Figures beside merit that decide nothing: a good judge of uneven labels may gain nothing."""
BEYOND_CHANCE = (KAPPA.id, QWK.id)
"""Figures that labels of one kind leave undefined."""
ONE_LABEL = (CONSTANT_LABELS.code, AGREE_CONSTANT.code)
BY_LABEL = (MERIT.id, LENIENCY.id)
"""Figures made of the rates on either label, whose rows of the rarer label decide; κ depends on the mix."""
EXPECTED_ANSWERS = (FOLLOWED.id, LEVEL_AGREEMENT.id)
DECIDED_BY_ROWS = (*LABELLED, *EXPECTED_ANSWERS, NET_SLOT_PREFERENCE.id)
RARER_TEXT = {LONGER_ONLY.code: "the shorter", SHORTER_ONLY.code: "the longer"}
"""Why merit is not known of natural pairs, to the text that people have to prefer in those to add."""
UNEVEN = 3
"""Rows of one label for one of the other from which the other is rare."""
RUN_RATES = (MISSED_FAILURES.id, FALSE_ALARMS.id)
"""Figures that say whether a judge of agents tells good runs from bad."""
RARE_PAIRS = 16
"""Pairs of the rarer kind from which a count of words is told from a judge."""


@dataclass(frozen=True)
class SampleSizeHint:
    advice: str
    growth: float = 1.0
    """Rows then, for one now."""
    at_limit: bool = False
    """True where a figure sits at its limit, so that rows decide nothing."""
    unlabelled: bool = False
    """True where no row has a label yet."""

    def lacks_column(self, words: Sequence[str]) -> bool:
        """Whether a command maps columns, and none for the new labels."""
        mapped = [after for before, after in pairwise(words) if before == "--columns"]
        return self.unlabelled and bool(mapped) and "label=" not in re.findall(r"\w+=", ",".join(mapped))

    def command(self, command: str) -> str:
        """The command to measure again, whose map of columns has `label` for the new labels."""
        words = shlex.split(command)
        place = words.index("--columns") + 1
        return shlex.join([*words[:place], f"{words[place]},label=label", *words[place + 1 :]])


def sample_size_hint(sheet: Datasheet, judge: str) -> SampleSizeHint | None:
    """What to add, with a number; None where rows with labels leave nothing open."""
    labelled = (ORIGINAL, NATURAL_PROBE, BEST_OF_PROBE)
    own = [e for e in sheet.look_up.of_judge(judge) if e.probe in labelled and e.is_overall]
    runs = [e for e in sheet.look_up.of_judge(judge) if e.probe == RUNS and e.is_overall and defined(e)]
    few = [e for e in sheet.look_up.of(judge, MERIT.id) if e.reason == FEW_TEXTS.code]
    if few:
        texts = sum(e.details[ACCEPTED][1] for e in few)
        lacking = LEAST_ACCEPTED - texts
        return SampleSizeHint(
            f"have texts written for more rows: {LEAST_ACCEPTED} that are accepted decide, and these are "
            f"{texts}",
            1 + lacking / max(1, texts),
        )
    if not any(e.metric == ACCURACY.id and defined(e) for e in own) and runs:
        return _more_runs(runs)
    written = [e for e in sheet.look_up.of_judge(judge) if e.probe in WRITTEN and e.metric == MERIT.id]
    if not any(e.metric == ACCURACY.id and defined(e) for e in own) and any(map(defined, written)):
        return _hint([e for e in written if e.is_overall], [])
    if not any(e.metric == ACCURACY.id and defined(e) for e in own):
        width = decimal(half_width(EXPECTED, FIRST_ROWS))
        here = max((e.n_units for e in own), default=0)
        return SampleSizeHint(
            f"label about {FIRST_ROWS} rows, which show an accuracy of {EXPECTED:g} to within ±{width}",
            max(1.0, FIRST_ROWS / here) if here else 1.0,
            unlabelled=True,
        )
    here = max(e.n_units for e in own)
    if any(e.metric in BEYOND_CHANCE and e.reason in ONE_LABEL for e in own):
        lacking = max(here, FIRST_ROWS // 2)
        return SampleSizeHint(f"add rows of the label that is missing, about {lacking:,}", 1 + lacking / here)
    if any(e.metric == MERIT.id and e.probe == NATURAL_PROBE and not defined(e) for e in own):
        reasons = {e.reason for e in own if e.metric == MERIT.id}
        rarer = next((text for code, text in RARER_TEXT.items() if code in reasons), None)
        if rarer is None:
            return SampleSizeHint(
                f"add about {FIRST_ROWS} pairs of which people prefer one text", 1 + FIRST_ROWS / here
            )
        # None in so many: the share that a rule of succession gives.
        wanted = round_up(RARE_PAIRS * (here + 2))
        return SampleSizeHint(
            f"label about {pluralize(wanted, 'pair')} drawn at random: about {RARE_PAIRS} of which people "
            f"prefer {rarer} text are wanted, and these {pluralize(here, 'pair')} hold none",
            1 + wanted / here,
        )
    merit = [e for e in runs if e.metric == MERIT.id]
    made = [e for e in sheet.look_up.of_judge(judge) if e.metric in EXPECTED_ANSWERS and e.is_overall]
    return _hint([*(e for e in own if e.metric not in GAINS), *merit, *made], own)


def _hint(deciding: list[Estimate], own: list[Estimate]) -> SampleSizeHint | None:
    """What would decide the figures that are open: merit, then κ, then what takes the fewest rows."""
    open_ones = [(rows, e) for e in deciding if (rows := _rows(e)) is not None]
    merit = [each for each in open_ones if each[1].metric == MERIT.id]
    main = merit or [each for each in open_ones if each[1].metric == KAPPA.id]
    if not open_ones:
        return None
    rows, figure = max(main, key=itemgetter(0)) if main else min(open_ones, key=itemgetter(0))
    label, some = rows_of_the_rarer(own, rows) if figure.metric in BY_LABEL else (None, None)
    wanted = round_up(rows if some is None else some)
    if wanted > MOST_ROWS:
        return SampleSizeHint(
            f"“{metric_named(figure.metric).short}” sits at its limit, where rows decide little (about "
            f"{pluralize(wanted, 'row')} would): change the judge, or take it for what it is",
            at_limit=True,
        )
    kind = "labelled row" if figure.metric in LABELLED else "row"
    rows_text = pluralize(wanted, kind) if label is None else f"{pluralize(wanted, 'row')} labelled {label}"
    if figure.probe == NATURAL_PROBE and kind != "row":
        rows_text = f"{pluralize(wanted, 'pair')} drawn at random and labelled"
    elif figure.probe == RUNS:
        rows_text = f"{pluralize(wanted, 'labelled run')} of agents"
    elif figure.probe in EDITED_RUNS:
        rows_text = f"{pluralize(wanted, 'run')} of agents with such edits"
    elif figure.probe in WRITTEN:
        rows_text = f"{pluralize(wanted, 'row')} with such texts"
    return SampleSizeHint(
        f"add about {rows_text}, which would decide “{metric_named(figure.metric).short}” in four runs of "
        "five if the value stays",
        1 + wanted / max(1, figure.n_units),
    )


def rows_of_the_rarer(own: list[Estimate], rows: int) -> tuple[int | None, int | None]:
    """The label that is rare, and how many rows of it alone tell as much as so many further rows.

    The rate on the rare label is what is known least: with a and b rows of the two labels its variance and
    that of the other rate go as 1/a + 1/b. Nothing where labels are even, or rows of one do not suffice.
    """
    sizes = [
        (rate.n_units, label)
        for label, metric in enumerate((FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE))
        for rate in own
        if rate.metric == metric.id and defined(rate)
    ]
    if len(sizes) < 2:
        return None, None
    (rare, label), (common, _) = sorted(sizes)
    if UNEVEN * rare > common:
        return None, None
    grown = (rare + common + rows) / (rare + common)
    left = (1 / rare + 1 / common) / grown - 1 / common
    return (label, ceil(1 / left - rare)) if left > 0 else (None, None)


def _more_runs(known: list[Estimate]) -> SampleSizeHint | None:
    """Runs to add where edits say what each should come to; None where their figures leave nothing open."""
    rates = [e for e in known if e.metric in RUN_RATES]
    if len(rates) == 1:
        lack, probe = ("pass", RUN_PASS) if rates[0].metric == MISSED_FAILURES.id else ("fail", RUN_FAIL)
        return SampleSizeHint(f"add runs that should {lack}, or a probe that makes them ({probe})", 2.0)
    needed = [(runs, each) for each in rates if (runs := _units_missing(each)) is not None]
    if not needed:
        return None
    runs, figure = max(needed, key=itemgetter(0))
    return SampleSizeHint(
        f"add about {pluralize(round_up(runs), 'run')} of agents, which would decide "
        f"“{metric_named(figure.metric).short}” in four measurements of five if the value stays",
        1 + round_up(runs) / max(1, figure.n_units),
    )


def _rows(estimate: Estimate) -> int | None:
    """Further rows that decide an inconclusive figure of own rows (sample size); None where none do."""
    return _units_missing(estimate) if estimate.metric in DECIDED_BY_ROWS else None


def _units_missing(estimate: Estimate) -> int | None:
    if estimate.status != INCONCLUSIVE or estimate.calls_missing is None or not estimate.n_calls:
        return None
    return -(-estimate.calls_missing * max(1, estimate.n_units) // estimate.n_calls)


@dataclass(frozen=True)
class RemedyJudge:
    definition: str
    title: str
    judge: Judge

    @classmethod
    def of(cls, sheet: Datasheet, verdict: Conclusion, study: Study) -> RemedyJudge | None:
        """The remedy for the first fault of a judge; None if it is no judge that can be measured.

        Where merit is open, repeats for noise, whatever stands before it.
        """
        mine = [
            (decision, cause)
            for cause in verdict.causes
            for decision in sheet.findings
            if decision.judge == verdict.judge and decision.question is question_of(cause)
        ]
        if verdict.advice is Advice.STILL_NOISY:
            remedies = (repeats_for(sheet, *each) for each in mine)
        elif verdict.word == CARE:
            first = verdict.causes[:1]
            remedies = (remedy_for(sheet, decision, cause) for decision, cause in mine if (cause,) == first)
        else:
            return None
        remedy = next((found for found in remedies if found is not None), None)
        if remedy is None or remedy.definition is None:
            return None
        known = {judge.name: judge for judge in study.judges}

        def parse(given: Given) -> Judge:
            composite = CompositeJudge.of(given)
            assert composite is not None, given
            return composite.judge(parse, known, study.task.scale)

        return cls(remedy.definition, remedy.title, parse(yaml.safe_load(remedy.definition)))

    def count_in_plan(self, plan: Plan, beside: Iterable[Judge] = ()) -> int:
        """Calls on what the judges behind it were shown in a run, with those of other judges beside."""
        asked = {one.name for one in self.judge.leaf_judges}
        judges = {judge.name: judge for judge in beside}
        trials, count = plan.trials, CallCount()
        for name in {*asked, *judges}:
            mine = trials.take(trials.of_judge(name))
            each = [self.judge] if name in asked else []
            each += [judges[name]] if name in judges else []
            shown = [(q.protocol, q.stimulus.id, q.order) for q in mine.distinct_trials]
            number = np.zeros(len(mine.questions), dtype=np.int64)
            number[mine.numbers] = np.arange(len(shown))
            for one in each:
                count.add(one, shown, number[mine.question], mine.replicate)
        return len(count)
