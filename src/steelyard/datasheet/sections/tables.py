"""Tables beside the figures: several judges together, confusion matrices, figures by stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.core.text import capital, pluralize, short_names
from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Confusion, Datasheet
from steelyard.datasheet.estimate_index import EstimateIndex
from steelyard.datasheet.glossary import metric_named, probe_title
from steelyard.datasheet.sections.sections import Cell, Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics import juries
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.panel_metrics import ERROR_CORRELATION
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.run.strata import STRATUM_GAP
from steelyard.metrics.scores.against_labels import CCC, MAE, PEARSON, SPEARMAN
from steelyard.metrics.scores.edited_texts import INVARIANCE
from steelyard.stimuli.original import NATURAL, ORIGINAL, PERTURBED, ROTATION
from steelyard.tasks.task import BestOf, parse_scale

SINGLE_JUDGE_NOTE = (
    "One judge was measured: juries, the correlation of errors and figures over judges need two or more. "
    "Add another judge."
)
_SPREADS = {
    ACCURACY.id: "How far do judges differ on a probe? Standard deviations stand beside what sampling "
    "alone would give.",
    INVARIANCE.id: "How many verdicts does each edit leave alone, over judges?",
}
_ORDINAL = {CCC.id: "CCC", PEARSON.id: "Pearson", SPEARMAN.id: "Spearman", MAE.id: "MAE"}
_AGAINST = "How closely do scores on a range follow the labels, on each probe and over all of them?"
JURY = "jury"
_CHOSEN = {
    juries.CHOSEN_JURY_ACCURACY.id: "best trio on the other half",
    juries.BEST_JUDGE_ACCURACY.id: "best judge on the other half",
    juries.JURY_GAIN.id: "gain of the trio over that judge",
}
RULE_NAMES = {
    "": "majority",
    "dawid_skene": "weighted by agreement (Dawid and Skene)",
    "splits_to_first": "majority, splits to the first judge,",
    "splits_to_lowest": "majority, splits to the lowest answer,",
}
_ERRORS = (juries.JURY_FALSE_POSITIVE_RATE.id, juries.JURY_FALSE_NEGATIVE_RATE.id)


@dataclass(frozen=True)
class TextTable:
    title: str
    question: str
    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]


def multi_judge_tables(summary: Summary, *, short: bool = False) -> tuple[TextTable, ...]:
    """Every table that has a row; `short` cuts the names of judges to what still tells them apart."""
    names = [judge.name for judge in summary.measured]
    labels = short_names(names) if short else {name: name for name in names}
    tables = _MultiJudgeTables(summary, labels, short=short).all()
    return tuple(table for table in tables if table.rows)


def single_judge_note(summary: Summary) -> str:
    """What to say where scores of a single judge leave nothing to put together; else nothing."""
    return SINGLE_JUDGE_NOTE if summary.datasheet.form == "pointwise" and len(summary.measured) == 1 else ""


def judges_of(estimate: Estimate) -> tuple[str, ...]:
    keys = sorted(key for key in estimate.group if key.startswith("judge_"))
    return tuple(str(estimate.group[key]) for key in keys)


class _MultiJudgeTables:
    def __init__(self, summary: Summary, names: Mapping[str, str], *, short: bool) -> None:
        self.summary = summary
        self.panel = summary.datasheet.panel
        self.names = names
        self.short = short

    def all(self) -> list[TextTable]:
        spreads = [self._spread(share, question) for share, question in _SPREADS.items()]
        voted = [self._juries(), self._errors(), self._by_probe()]
        return [self._ordinal(), *spreads, *voted, self._correlations()]

    def _ordinal(self) -> TextTable:
        """Scores against labels by judge and probe, and over all probes of a judge."""
        rows = []
        look_up = self.summary.datasheet.look_up
        for judge in self.summary.measured:
            mine = [e for e in look_up.of_judge(judge.name) if e.metric in _ORDINAL and e.is_overall]
            for probe in dict.fromkeys(e.probe for e in mine):
                estimates = [
                    look_up.find(judge.name, metric, probe, {"protocol": "base"}) for metric in _ORDINAL
                ]
                cells = map(self._ordinal_cell, estimates)
                rows.append((self.names[judge.name], probe_title(probe), *cells))
        header = ("judge", "probe", *_ORDINAL.values())
        return TextTable("Scores against labels", _AGAINST, header, tuple(rows))

    def _ordinal_cell(self, estimate: Estimate | None) -> str:
        if not numbers.defined(estimate):
            return self.summary.absence(estimate)
        return numbers.value(estimate) if self.short else numbers.figure(estimate)

    def _spread(self, share: str, question: str) -> TextTable:
        mine = [e for e in self.panel if e.group.get("of") == share]
        rows = []
        for probe in dict.fromkeys(e.probe for e in mine):
            by_metric = {e.metric: e for e in mine if e.probe == probe}
            values = [numbers.value(by_metric[f"judges_{name}"]) for name in ("mean", "sd", "sd_sampling")]
            ends = [by_metric[f"judges_{name}"] for name in ("min", "max")]
            rows.append((probe_title(probe), *values, *(f"{numbers.value(e)} {self._who(e)}" for e in ends)))
        header = ("probe", "mean", "SD", "of sampling", "least", "greatest")
        return TextTable(f"{capital(share)} over judges", question, header, tuple(rows))

    def _juries(self) -> TextTable:
        mine = [e for e in self.panel if e.probe == JURY and e.metric in (juries.JURY_ACCURACY.id, *_CHOSEN)]
        rows = tuple(self._row(e, self._jury(e)) for e in mine)
        question = (
            "Is a majority better than the best judge? A split vote is not right, unless a rule decides it. "
            "What was chosen on one half of the clusters counts on the other."
        )
        return TextTable("Juries", question, ("jury", ACCURACY.label, "inputs/clusters"), rows)

    def _errors(self) -> TextTable:
        """False positives and false negatives of each jury that has an accuracy above."""
        look_up = EstimateIndex(self.panel)
        right = [
            e for e in self.panel if e.metric in (juries.JURY_ACCURACY.id, juries.CHOSEN_JURY_ACCURACY.id)
        ]
        rows = []
        for e in (e for e in right if e.probe == JURY):
            rates = [look_up.find(e.judge, metric, JURY, e.group) for metric in _ERRORS]
            known = [rate for rate in rates if rate is not None]
            if known:
                rows.append((self._jury(e), *map(self._figure, known)))
        header = ("jury", "false positive", "false negative")
        return TextTable("Errors of juries", "Which way do juries err on yes/no items?", header, tuple(rows))

    def _by_probe(self) -> TextTable:
        mine = [e for e in self.panel if e.metric == juries.JURY_ACCURACY.id and e.probe != JURY]
        judges = pluralize(len(self.summary.measured), "judge")
        question = f"What does the majority of all {judges} get right, by probe?"
        rows = tuple(self._row(e, probe_title(e.probe)) for e in mine)
        headings = ("probe", ACCURACY.label, "inputs/clusters")
        return TextTable("Majority by probe", question, headings, rows)

    def _jury(self, estimate: Estimate) -> str:
        if estimate.metric in _CHOSEN:
            who = "" if estimate.metric == juries.JURY_GAIN.id else self._who(estimate)
            return f"{_CHOSEN[estimate.metric]}{': ' if who else ''}{who}"
        rule = RULE_NAMES[str(estimate.group.get("rule", ""))]
        against = f", against {estimate.group['reference']}" if "reference" in estimate.group else ""
        return f"{rule} of all {len(self.summary.measured)}{against}"

    def _row(self, estimate: Estimate, label: str) -> tuple[str, ...]:
        return label, self._figure(estimate), f"{estimate.n_units}/{estimate.n_clusters}"

    def _correlations(self) -> TextTable:
        mine = [e for e in self.panel if e.metric == ERROR_CORRELATION.id]
        mine.sort(key=lambda e: (not numbers.defined(e), -(e.value or 0.0), judges_of(e)))
        rows = tuple((self._who(e), self._figure(e), str(e.n_units)) for e in mine)
        question = (
            "Do two judges err on the same inputs? At 1 they are one judge; near 0 a jury of them gains."
        )
        return TextTable("Error correlation", question, ("judges", "correlation", "inputs"), rows)

    def _who(self, estimate: Estimate) -> str:
        return " + ".join(self.names.get(name, name) for name in judges_of(estimate))

    def _figure(self, estimate: Estimate) -> str:
        if numbers.undefined(estimate):
            return self.summary.undefined(estimate)
        return f"{numbers.figure(estimate)} {numbers.counts(estimate)}".rstrip()


CONFUSION_QUESTION = (
    "Which answers did each label get? Calls on unchanged items, natural pairs or written levels, labels as "
    "rows."
)


def confusion_tables(summary: Summary) -> list[tuple[TextTable, list[TextTable]]]:
    """The matrix of each measured judge under the base protocol, each with those of its strata."""
    tables: list[tuple[TextTable, list[TextTable]]] = []
    for judge in summary.measured:
        mine = [c for c in summary.datasheet.confusion if (c.judge, c.protocol) == (judge.name, "base")]
        for whole in (c for c in mine if c.stratum is None):
            strata = [c for c in mine if c.stratum and (c.scale, c.probe) == (whole.scale, whole.probe)]
            several = len({c.scale for c in mine}) > 1
            name = f"{judge.name}, {whole.scale}" if several else judge.name
            name = name if whole.probe is None else f"{name}, {probe_title(whole.probe).lower()}"
            tables.append(
                (_matrix_table(whole, name), [_matrix_table(part, str(part.stratum)) for part in strata])
            )
    return tables


def _matrix_table(matrix: Confusion, title: str) -> TextTable:
    kind = NATURAL if matrix.scale == "pairwise" else ORIGINAL
    kind = ROTATION if isinstance(parse_scale(matrix.scale), BestOf) else kind
    kind = PERTURBED if matrix.probe else kind
    place = {"judge": matrix.judge, "protocol": matrix.protocol, "kind": kind}
    place |= {"stratum": matrix.stratum or "", **({"probe": matrix.probe} if matrix.probe else {})}
    rows: list[tuple[Text, ...]] = []
    for label, calls in zip(matrix.labels, matrix.calls, strict=True):
        named = zip(matrix.answers, calls, strict=True)
        cells = (Cell(f"{n:,}", where={**place, "label": label, "answer": answer}) for answer, n in named)
        rows.append((label, *cells))
    return TextTable(title, "", ("label / answer", *matrix.answers), tuple(rows))


STRATA_QUESTION = (
    "Where in the data is it right, and where not? Unchanged items or natural pairs under the base protocol."
)


def strata_tables(summary: Summary) -> tuple[TextTable, ...]:
    tables = (_stratum_table(summary.datasheet, judge.name) for judge in summary.measured)
    return tuple(table for table in tables if table.rows)


def by_stratum(datasheet: Datasheet, judge: str) -> list[Estimate]:
    base = (e for e in datasheet.look_up.of_judge(judge) if e.group.get("protocol") == "base")
    return [e for e in base if "stratum" in e.group and "cue" not in e.group and e.metric != STRATUM_GAP.id]


def _stratum_table(datasheet: Datasheet, judge: str) -> TextTable:
    strata = by_stratum(datasheet, judge)
    cells = {(str(e.group["stratum"]), e.metric): e for e in strata}
    names = list(dict.fromkeys(stratum for stratum, _ in cells))
    metrics = [
        metric
        for metric in dict.fromkeys(metric for _, metric in cells)
        if any(numbers.defined(cells.get((name, metric))) for name in names)
    ]
    header = ("stratum", datasheet.units, *(metric_named(metric).name for metric in metrics))
    rows = tuple(
        (
            name,
            str(max(e.n_units for e in strata if e.group["stratum"] == name)),
            *(_stratum_cell(cells.get((name, metric))) for metric in metrics),
        )
        for name in names
    )
    return TextTable(judge, "", header, rows if metrics else ())


def _stratum_cell(estimate: Estimate | None) -> str:
    if estimate is not None and numbers.undefined(estimate):
        return "undefined"
    return f"{numbers.figure(estimate)} {numbers.counts(estimate)}".strip()
