"""The Judge Datasheet: estimates and provenance, data only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.core.json_dataclasses import from_body, keyed, mapping, read_fields
from steelyard.core.text import pluralize
from steelyard.datasheet import run_facts
from steelyard.datasheet.conclusion import Conclusion, NextStep, next_steps_in
from steelyard.datasheet.estimate_index import EstimateIndex
from steelyard.datasheet.example import FindingExample
from steelyard.datasheet.instrument_card import InstrumentCard, JudgeEntry
from steelyard.datasheet.questions.question import Decision
from steelyard.datasheet.run_facts import RunFacts
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import FigureFault
from steelyard.metrics.findings import INCONCLUSIVE
from steelyard.metrics.remedies.mitigations import MitigatedJudge
from steelyard.stimuli.brief import ORDINAL, ProbeReport
from steelyard.stimuli.original import NATURAL, ORIGINAL, ROTATION
from steelyard.tasks.task import parse_scale
from steelyard.verdicts.call_answers import NEITHER, CallAnswers, answer_word
from steelyard.verdicts.observations import Observations

MOST_LEVELS, MOST_STRATA = 12, 50
"""Scales and strata of more have no matrix."""
PAIRED = ("u", "v", "tie")
LOST = ("abstain", "unreadable", "failed")


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix: label by answer, in calls."""

    judge: str
    protocol: str
    scale: str
    stratum: str | None
    """Part of the data; None for all of it."""
    labels: tuple[str, ...]
    """Rows: the reference; of a pair the content that is better, or `tie`."""
    answers: tuple[str, ...]
    """Columns: what the judge answered; of a pair the content that it named."""
    calls: tuple[tuple[int, ...], ...]
    probe: str | None = None
    """Probe whose texts were written for the labels; None for texts as they are."""


def confusions(judge: str, observations: Observations) -> list[Confusion]:
    """The matrices of one judge: of each protocol and scale, whole and by stratum; none without labels."""
    tables: list[Confusion] = []
    parts = [(None, observations.filter(kinds=(kind,))) for kind in (ORIGINAL, NATURAL, ROTATION)]
    for probe, shown_rows in (*parts, (ORDINAL, observations.filter(ORDINAL))):
        rows = shown_rows.filter(labelled=True)
        rows = rows.filter(calls=~rows.own_label)
        for protocol in rows.protocols_seen:
            mine = rows.filter(protocol=protocol)
            scales = mine.shown.scales
            shown = distinct(scales.codes[mine.stimulus]).tolist()
            for scale, code in sorted((scales.values[code] or "pairwise", code) for code in shown):
                made = _of_scale(judge, protocol, scale, mine.filter(stimuli=scales.codes == code))
                tables += [replace(each, probe=probe) for each in made if not (probe and each.stratum)]
    return tables


def _of_scale(judge: str, protocol: str, scale: str, rows: Observations) -> Iterator[Confusion]:
    labels = PAIRED if scale == "pairwise" else parse_scale(scale).answers
    if len(labels) > MOST_LEVELS:
        return
    yield _matrix(judge, protocol, scale, None, labels, rows)
    strata = rows.shown.stratum
    names = sorted(set(strata[distinct(rows.stimulus)].tolist()))
    if 2 <= len(names) <= MOST_STRATA:
        for name in names:
            yield _matrix(judge, protocol, scale, name, labels, rows.filter(stimuli=strata == name))


def _matrix(
    judge: str, protocol: str, scale: str, stratum: str | None, labels: Sequence[str], rows: Observations
) -> Confusion:
    answers, known_labels = (*labels, *LOST), rows.shown.labels
    places = np.array([_place(labels, word) for word in known_labels.values], dtype=np.int64)
    label, answer = places[known_labels.codes[rows.stimulus]], _answered(rows, answers)
    cell, known = label * len(answers) + answer, (label >= 0) & (answer >= 0)
    counts = np.bincount(cell[known], minlength=len(labels) * len(answers)).reshape(len(labels), -1)
    shown = [n for n, name in enumerate(answers) if name in labels or counts[:, n].any()]
    calls = tuple(tuple(int(counts[row, n]) for n in shown) for row in range(len(labels)))
    return Confusion(judge, protocol, scale, stratum, tuple(labels), tuple(answers[n] for n in shown), calls)


def _answered(rows: Observations, answers: Sequence[str]) -> Ints:
    """The column of each call; of pairs by content, not by slot."""
    word = [_place(answers, answer_word(verdict)) for verdict in rows.verdicts]
    column = np.array(word, dtype=np.int64)[rows.verdict]
    answer = CallAnswers.of(rows).answer
    named = rows.shown.paired[rows.stimulus] & (answer > NEITHER)
    return np.asarray(np.where(named, np.nan_to_num(answer) - 1, column), dtype=np.int64)


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else -1


SCHEMA = "steelyard.datasheet/2"
OLD_SCHEMA = "steelyard.datasheet/1"
"""Still read: its words are replaced by those of this one."""
_NEW_WORDS = {("finding", "underpowered"): INCONCLUSIVE, ("reading", "Zero point"): "Dark current"}
"""Key and word of the old schema to the word of this one."""
STUDY = ("name", "seed", "stimulus_set", "version", "profile", "form", "own_data", "asked")
"""Fields that stand under `study` in the file, with the reference."""
PARTS = ("judges", "run", "estimates", "panel")
OPTIONAL_PARTS = ("remedies", "authored", "exhibits", "confusion", "instruments", "faults")
"""Fields that the file lacks where they are empty."""
MOST_NAMES = 3


@dataclass(frozen=True, repr=False)
class Datasheet:
    """Everything a report shows."""

    name: str
    seed: int
    stimulus_set: str
    version: str
    profile: str
    """`quick`, `standard`, `full`."""
    judges: tuple[JudgeEntry, ...]
    """Measured judges first, baselines last."""
    estimates: tuple[Estimate, ...]
    findings: tuple[Decision, ...] = ()
    """The answer to each question, made of the figures by `concluded`; `readings` in the file."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """Clock times and latency; the only part that two equal runs may differ in."""
    authored: tuple[ProbeReport, ...] = ()
    """What was written for the study, probe by probe; none where nothing had to be."""
    form: str = keyed("level", "pairwise")
    """`pairwise` where two texts were compared, `pointwise` where single texts were scored."""
    reference: str | None = keyed("reference_judge", None)
    """Judge whose verdicts on the unchanged items are the labels; None where they are the data's own."""
    panel: tuple[Estimate, ...] = ()
    """Figures of several judges together: juries, correlated errors, each probe over judges."""
    remedies: tuple[MitigatedJudge, ...] = ()
    """What each judge would show with a remedy, from the same calls; first the judge as measured."""
    exhibits: tuple[FindingExample, ...] = ()
    """Calls behind flagged readings and lost calls, with texts and replies, cut to a length."""
    confusion: tuple[Confusion, ...] = ()
    """Label by answer, of each measured judge: whole, and by stratum."""
    instruments: tuple[InstrumentCard, ...] = ()
    """What each judge under test is asked, how and where; none of imported verdicts."""
    faults: tuple[FigureFault, ...] = ()
    """What could not be computed; its figures are undefined, with the cause in their notes."""
    verdicts: tuple[Conclusion, ...] = ()
    """One for each measured judge, in their order, made of the decisions by `concluded`."""
    next_steps: Mapping[str, NextStep] = field(default_factory=dict)
    """What to do next, by judge; it stands with the verdict in the file."""
    own_data: bool = False
    """True where the texts are the user's, so that the profile does not say how many there are."""
    asked: tuple[str, ...] = ()
    """Probes that the user named; none where the usual ones were taken."""

    @property
    def verdict(self) -> Conclusion:
        """The verdict on the only measured judge; with several, `verdicts` has one for each."""
        if len(self.verdicts) != 1:
            raise ValueError(f"{pluralize(len(self.verdicts), 'verdict')}, expected one; look at verdicts")
        return self.verdicts[0]

    @property
    def smoke_test(self) -> bool:
        """True for a run that is too small to clear a judge of anything."""
        return self.profile == "quick" and not self.own_data

    @property
    def kind(self) -> str:
        """What the sheet calls itself."""
        return "Judge Datasheet, smoke test" if self.smoke_test else "Judge Datasheet"

    @property
    def _measured(self) -> list[str]:
        return [judge.name for judge in self.judges if not judge.baseline]

    @property
    def title(self) -> str:
        """The measured judges, by which reports are named; the study where there are none."""
        names = self._measured
        if len(names) <= MOST_NAMES:
            return ", ".join(names) or self.name
        return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} others"

    def __repr__(self) -> str:
        flagged = sum(reading.status == "flagged" for reading in self.findings)
        figures = f"{pluralize(len(self.estimates), 'figure')}, {flagged} flagged"
        return f"<Datasheet of {', '.join(self._measured)}: {figures}>"

    @property
    def units(self) -> str:
        """What was shown: pairs or items."""
        return "pairs" if self.form == "pairwise" else "items"

    @property
    def facts(self) -> RunFacts:
        """What `run` says of calls that were not asked, or not as they were meant."""
        return from_body(RunFacts, self.run, "run")

    @property
    def partial(self) -> str | None:
        """`Partial: 183 of 660 calls` where some were never asked; None for a whole run."""
        facts = self.facts
        return run_facts.partial_words(facts.asked, facts.planned) if facts.partial else None

    @property
    def partial_sentence(self) -> str:
        """The sentence that the reports of a partial run begin with; empty for a whole run."""
        if self.partial is None:
            return ""
        facts, rule = self.facts, self.facts.decided
        # With those never asked, the calls that failed are what the next step counts.
        own = any(judge in facts.unfinished for judge in self._measured)
        failed = facts.asked - facts.calls if own else 0
        among = f", {failed:,} of them failed" if failed > 0 else ""
        told = f"{self.partial}{among}; {facts.others}"
        return told if rule is None else f"{told}, as {rule} was to be decided: {run_facts.EARLY_STOP}"

    def unfinished(self, judge: str) -> str | None:
        """`183 of 660 calls`: what was asked of one judge; None where all were."""
        behind = self.facts.unfinished.get(judge)
        return run_facts.call_count(behind.asked, behind.planned) if behind else None

    def caveats(self, judge: str) -> list[str]:
        """What a reader must know of how a judge was asked, in sentences.

        Fields that its server would not take, what was cut from runs longer than its context, and notes.
        """
        facts, told = self.facts, []
        if fields := facts.refused.get(judge):
            left = ", ".join(f"{name} in {pluralize(number, 'call')}" for name, number in fields.items())
            told.append(f"the server would not take {left}, which were made without it")
        if cut := facts.shortened.get(judge):
            left_out = f" and {pluralize(cut.messages, 'whole message')}" if cut.messages else ""
            told.append(
                f"runs were shortened to fit its context in {cut.calls:,} of {pluralize(cut.of, 'call')}: "
                f"{cut.characters:,} characters{left_out} were cut, each cut marked in the prompt"
            )
        return [*told, *filter(None, facts.notes.get(judge, ()))]

    @property
    def reference_sentence(self) -> str:
        """What accuracy is held against, where that is a judge; empty where it is not."""
        return "" if self.reference is None else run_facts.describe_reference(self.reference)

    @property
    def remarks(self) -> dict[str, str]:
        """What else a report says of the run beside its figures, by the word that opens it."""
        facts = self.facts
        said = {"Reference": self.reference_sentence, "Looks": facts.looks_sentence}
        said |= {"Pairs": facts.own_checklists, "Labels": facts.missing_labels}
        return {opening: words for opening, words in said.items() if words}

    @cached_property
    def look_up(self) -> EstimateIndex:
        """The estimates by what they are about."""
        return EstimateIndex(self.estimates)

    def find(
        self, judge: str, metric: str, probe: str | None = None, **group: str | float
    ) -> Estimate | None:
        """The one estimate with exactly this group, if there is one."""
        return self.look_up.find(judge, metric, probe, group)

    def of(self, judge: str, metric: str, probe: str | None = None) -> Sequence[Estimate]:
        """Every estimate of a metric for a judge."""
        return self.look_up.of(judge, metric, probe)

    @classmethod
    def from_json(cls, body: Any) -> Datasheet:
        """The figures and facts that were written; a ValueError says where the body is none.

        Decisions and conclusions are made of them again: see `concluded`.
        """
        schema = mapping(body, "").get("schema")
        if schema == OLD_SCHEMA:
            body = _with_new_words(body)
        elif schema != SCHEMA:
            raise ValueError(f"schema: found {json.dumps(schema)}, expected {json.dumps(SCHEMA)}")
        study = {"profile": "", **mapping(body.get("study"), "study")}
        values = read_fields(cls, study, "study", (*STUDY, "reference"))
        values |= read_fields(cls, body, "", (*PARTS, *OPTIONAL_PARTS))
        read_fields(RunFacts, body.get("run", {}), "run")
        steps = next_steps_in(body.get("verdicts"))
        sentence = study.get("reference")
        # Not every file names the judge by itself.
        if isinstance(sentence, str) and "reference" not in values:
            before, after = run_facts.REFERENCE
            values["reference"] = sentence.removeprefix(before).removesuffix(after)
        return cls(**values, next_steps=steps)

    @classmethod
    def loads(cls, text: str) -> Datasheet:
        """The datasheet that `datasheet.json` holds."""
        return cls.from_json(json.loads(text))


def _with_new_words(body: Any, key: str = "") -> Any:
    """A body of the old schema with the words of this one."""
    if isinstance(body, list):
        return [_with_new_words(each, key) for each in body]
    if isinstance(body, dict):
        return {name: _with_new_words(value, name) for name, value in body.items()}
    return _NEW_WORDS.get((key, body), body) if isinstance(body, str) else body
