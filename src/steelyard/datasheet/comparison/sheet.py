"""A comparison of two judges as it is published, and which of them is better: data only."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

from steelyard.core.text import escape_fields, fitted, pluralize, round_up
from steelyard.datasheet import numbers
from steelyard.datasheet.comparison.rows import (
    ALIKE,
    BETTER,
    DIFFER,
    DIFFERENT,
    LOSSES,
    UNDECIDED,
    WORSE,
    dropped,
    figures,
    label,
    main_first,
    needs_answers,
    one_of_each,
    p_text,
    same_body,
    same_sentence,
    state,
)
from steelyard.datasheet.glossary import probe_title
from steelyard.datasheet.numbers import NOT_MEASURED
from steelyard.datasheet.questions.more_data import BUILT_IN, profile_with
from steelyard.datasheet.run_facts import describe_reference
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.comparison.unit_events import Dropped
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import FigureFault
from steelyard.metrics.pairs.choices import WEIGHED
from steelyard.metrics.proportions import FAILED_RATE
from steelyard.metrics.stats.intervals import ALPHA, PAIRS

LONG_NAME = 32
"""Letters of a judge's name beyond which sentences say A and B."""
SCHEMA = "steelyard.comparison/1"
HOW_TO_READ = (
    "Intervals of what differs or is undecided hold for all figures at once; alike: 95 %, within the margin. "
    "q: p corrected for all figures. detects: what q shows in four comparisons of five."
)


@dataclass(frozen=True)
class Side:
    judge: str
    model: str
    folder: str
    stimulus_set: str
    partial: str | None = None
    """`Partial: 183 of 660 calls` where some of the judge's calls were never asked."""
    reference: str | None = None
    """Judge whose verdicts on the originals are the labels; None where they are not a judge's."""
    protocols: Mapping[str, str] = field(default_factory=dict)
    """Protocol name to fingerprint; empty for recorded verdicts."""
    made: str = ""
    """The model, with whom it asks and how often where it is made of others; empty where nobody said."""

    @property
    def model_suffix(self) -> str:
        """` (jury/vote of a, b; 2 calls per verdict)`; empty where the name says it."""
        return "" if self.model == self.judge else f" ({self.made or self.model})"

    @property
    def reference_sentence(self) -> str:
        return "" if self.reference is None else f"Reference: {describe_reference(self.reference)}"


@dataclass(frozen=True, repr=False)
class ComparisonSheet:
    first: Side
    second: Side
    """Judge B; differences are B − A."""
    matched: str
    """How stimuli were matched: `content` or `name`."""
    margin: float
    """Largest difference that still counts as none."""
    version: str
    rows: tuple[Comparison, ...]
    p: float | None = None
    """p of "the judges do not differ in any figure"; None where no unit is shared."""
    faults: tuple[FigureFault, ...] = ()
    stratum: str | None = None
    """The part of the data that was compared; None for all of it."""
    same: Estimate | None = None
    """How many of the calls that both answered got the same verdict."""

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": self.version,
            "first": asdict(self.first),
            "second": asdict(self.second),
            "matched": self.matched,
            "margin": self.margin,
            **({} if self.stratum is None else {"stratum": self.stratum}),
            "answer": self.answer(),
            "same_verdicts": None if self.same is None else same_body(self.same),
            "next": dict(zip(("step", "command"), self.next_step, strict=True)) if self.defined else None,
            "together": {"p": self.p, "differs": None if self.p is None else self.p <= ALPHA},
            "comparisons": [{**row.to_json(), "state": state(row)} for row in self.rows],
        }

    def __repr__(self) -> str:
        return f"<Comparison, {self.title}: {pluralize(len(self.defined), 'figure')}>"

    def _repr_html_(self) -> str:
        shown = self.escaped()
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in (*shown.answer(), shown.sentence()))
        return f"<h4>{escape(shown.title)}</h4>{said}"

    def dumps(self) -> str:
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def escaped(self) -> ComparisonSheet:
        names = ("judge", "model", "made", "folder", "stimulus_set")
        first, second = (escape_fields(side, *names) for side in (self.first, self.second))
        return replace(escape_fields(self, "stratum"), first=first, second=second)

    @property
    def defined(self) -> tuple[Comparison, ...]:
        return tuple(row for row in self.rows if row.difference is not None)

    @property
    def asked_of_both(self) -> tuple[Comparison, ...]:
        """Rows with units that both judges were shown, main figures first."""
        return tuple(main_first(row for row in self.rows if _shown_to_both(row)))

    def asked_of_one(self) -> list[str]:
        """Figures without a unit that could be asked of both, by protocol, probe and reason, in sentences."""
        counts = Counter(
            f"{probe_title(row.probe)}, {row.group.get('protocol', 'base')}: {_unpaired(row)}"
            for row in self.rows
            if not _shown_to_both(row)
        )
        return [f"{line} ({pluralize(count, 'figure')})" for line, count in counts.items()]

    def not_paired(self, width: int | None = None) -> list[str]:
        """What was asked of one judge alone or has no verdict, in a line each; nothing where nothing is."""
        calls = next((row for row in self.rows if row.metric == FAILED_RATE.id), None)
        undefined = [f"{label(row)}: {row.note}" for row in self.asked_of_both if row.difference is None]
        alone = undefined + self.asked_of_one()
        said = []
        if calls is not None and dropped(calls):
            said.append(
                f"Paired on {pluralize(calls.n_shared, 'call')} that both were asked; {dropped(calls)}."
            )
        if alone:
            more = f" and {pluralize(len(alone) - 1, 'more reason')}" if len(alone) > 1 else ""
            said.append(f"{NOT_MEASURED.capitalize()} in both: {alone[0]}{more}.")
        return [line if width is None or len(line) <= width else line[: width - 1] + "…" for line in said]

    def left_out(self) -> list[str]:
        """Every reason why units lack a verdict of both, with the figures that lost the most to it."""
        losses: dict[str, list[str]] = {}
        for row in self.asked_of_both:
            if dropped(row):
                losses.setdefault(dropped(row), []).append(label(row))
        lines = [
            f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: {loss}"
            for loss, names in losses.items()
        ]
        return [f"Left out, {line}." for line in (*lines, *self.asked_of_one())]

    @property
    def names(self) -> tuple[str, str]:
        """What the sides are called in sentences and drawings: with their folders where both share a name."""
        first, second = self.first, self.second
        if first.judge == second.judge:
            return f"A ({first.folder})", f"B ({second.folder})"
        return first.judge, second.judge

    def namesakes(self) -> str:
        """Whether two sides of one name are one instrument, in a sentence; empty where names differ."""
        first, second = self.first, self.second
        if first.judge != second.judge or not (first.protocols and second.protocols):
            return ""
        if first.protocols == second.protocols:
            return f"Both are called {first.judge}: one instrument, asked in the same way."
        return (
            f"Both are called {first.judge} and are not asked in the same way: "
            "model, address, prompt or decoding differ."
        )

    @property
    def title(self) -> str:
        """`B against A`; by folder where both judges have one name."""
        first, second = self.first, self.second
        part = "" if self.stratum is None else f", stratum {self.stratum}"
        if first.judge == second.judge:
            return f"{second.judge}: {second.folder} against {first.folder}{part}"
        return f"{second.judge} against {first.judge}{part}"

    def sentence(self) -> str:
        """What the test over all figures together says, and how many figures have each word."""
        words = [state(row) for row in self.defined]
        parts = ", ".join(
            f"{words.count(word)} {word}" for word in (*DIFFER, UNDECIDED, ALIKE) if word in words
        )
        summary = f"{pluralize(len(words), 'figure')} compared, margin {self.margin:g}: {parts or 'none'}."
        if self.p is None:
            return summary
        differ = "the judges differ" if self.p <= ALPHA else "no difference between the judges is shown"
        return f"All figures together: {differ} ({p_text(self.p)}). {summary}"

    @property
    def answered(self) -> ComparisonAnswer:
        first, second = self.first.judge, self.second.judge
        names = (f"A ({first})", f"B ({second})")
        if first == second or max(len(first), len(second)) > LONG_NAME:
            names = ("A", "B")
        return ComparisonAnswer(tuple(main_first(self.defined)), *names, self.margin, self.p, self.same)

    def answer(self) -> list[str]:
        """Which judge is better and in what, in sentences; empty where nothing could be compared."""
        return self.answered.sentences() if self.defined else []

    @property
    def next_step(self) -> tuple[str, str]:
        sides = self.first, self.second
        return self.answered.next_step([s.folder for s in sides], [s.judge for s in sides])


def _shown_to_both(row: Comparison) -> bool:
    """Some unit has a reply or a failure of each; a figure that could not be computed was asked of both."""
    first, second = row.dropped_first, row.dropped_second
    shared = row.n_shared or first.unreadable + first.failed or second.unreadable + second.failed
    return bool(shared) or first == second == Dropped()


def _unpaired(row: Comparison) -> str:
    if row.dropped_first.other_reference:
        return "compared with different references"
    for name, side in (("A", row.dropped_first), ("B", row.dropped_second)):
        if side.unsure:
            return f"{name} has no confidence on labelled items"
        if side.no_reference:
            return f"{name} has no reference but its own verdicts, or none"
    if row.dropped_first.not_shown and row.dropped_second.not_shown:
        return "nothing that both were shown"
    return f"shown to {'B' if row.dropped_first.not_shown else 'A'} only"


MOST_ROWS = 8
"""Figures that differ which the first screen shows; others are counted."""
ONE_LENGTH = "label more pairs drawn at random, until people prefer the longer text in some and not in all"
NO_ANSWERS = "read the calls that differ and label the items: no figure here says who is right"
NOT_FEASIBLE = "take the one that costs less: no feasible number of calls would show a difference"


@dataclass(frozen=True)
class ComparisonAnswer:
    """Which of two judges is better, and in what: what a comparison begins with, and what to do next.

    A difference counts where the corrected test shows it; which way is better, the metric says. Where none
    says so, a difference is told without a winner.
    """

    rows: tuple[Comparison, ...]
    """Figures with a difference, main figures first."""
    first: str
    second: str
    margin: float
    p: float | None = None
    """p of "the judges do not differ in any figure"."""
    same: Estimate | None = None

    @property
    def knows_answers(self) -> bool:
        """Whether any figure says who is right."""
        return any(map(needs_answers, self.rows))

    def having(self, *states: str) -> list[Comparison]:
        return [row for row in self.rows if state(row) in states]

    @property
    def shown(self) -> list[Comparison]:
        """Rows of the first screen: of each metric that differs the main one, by direction."""
        return one_of_each(row for word in DIFFER for row in self.having(word))[:MOST_ROWS]

    @property
    def headline(self) -> str:
        better, worse, other = (len(self.having(word)) for word in DIFFER)
        of = pluralize(len(self.rows), "figure")
        if (better or worse) and not self.knows_answers:
            return f"They differ in {better + worse + other} of {of}, and none says who is right."
        if better and worse:
            return f"Each is better in something: {self.second} in {better} of {of}, {self.first} in {worse}."
        if better or worse:
            names = (self.second, self.first) if better else (self.first, self.second)
            return f"{names[0]} is better than {names[1]}: in {better or worse} of {of}, worse in none."
        if other:
            return f"Neither is shown to be better; they differ in {other} of {of}."
        if self.p is not None and self.p <= ALPHA:
            p = p_text(self.p)
            return f"Neither is shown to be better; they differ ({p}), no single figure says where."
        if all(row.metric in LOSSES for row in self.rows):
            return "Nothing about their answers was compared, only whether calls were lost."
        if self.rows and len(self.having(ALIKE)) == len(self.rows):
            known = "" if self.knows_answers else "; none says who is right"
            return f"They are alike within ±{self.margin:g} in {len(self.rows)} of {of}{known}."
        return "Neither is shown to be better."

    def remarks(self) -> list[str]:
        """What is left out of the rows that differ, and what they do not say by themselves."""
        more = len(self.having(*DIFFER)) - len(self.shown)
        said = [f"{pluralize(more, 'more figure')} {'differs' if more == 1 else 'differ'}."] if more else []
        return said + self.reservations()

    def reservations(self) -> list[str]:
        """Why some figures only differ, and how often the answers do where nobody knows the right ones."""
        said = []
        if self.same is not None and self.same.value is not None and not self.knows_answers:
            said.append(f"No figure here says who is right; {same_sentence(self.same)}.")
        few = [row for row in self.having(DIFFERENT) if row.flipped == PAIRS and not row.explained_by]
        if few:
            clusters = pluralize(max(row.n_clusters for row in few), "cluster")
            said.append(
                f"“{DIFFERENT}” of {label(few[0])}: in these {clusters} alone, which say nothing of others."
            )
        if by_length := [row for row in self.having(DIFFERENT) if row.explained_by]:
            said.append(
                f"“{DIFFERENT}” of {label(by_length[0])}: length may explain it; "
                "“tells good from bad, whatever the length” decides."
            )
        return said

    def lists(self, width: int | None = None) -> list[str]:
        """`Alike within ±0.1 (2): failed, unreadable.` and the same of what is undecided, each one line."""
        heads = {ALIKE: f"Alike within ±{self.margin:g}", UNDECIDED: "Undecided"}
        return [
            fitted(f"{head} ({len(rows)})", list(map(label, one_of_each(rows))), len(rows), width)
            for word, head in heads.items()
            if (rows := self.having(word))
        ]

    def sentences(self) -> list[str]:
        """The whole answer without a table: every state with its figures."""
        said = [self.headline]
        for word in DIFFER:
            if rows := [row for row in self.shown if state(row) == word]:
                subject = "They are" if word == DIFFERENT else f"{self.second} is"
                said.append(f"{subject} {word} in {'; '.join(_figure(row) for row in rows)}.")
        return [*said, *self.remarks(), *self.lists()]

    def next_step(self, folders: Sequence[str], judges: Sequence[str]) -> tuple[str, str]:
        """What to do, and the command where one does it."""
        better, worse, undecided = (self.having(word) for word in (BETTER, WORSE, UNDECIDED))
        view = shlex.join(("steelyard", "view", *dict.fromkeys(folders)))
        if (better or worse) and not self.knows_answers:
            return NO_ANSWERS, view
        if better and worse:
            return "decide which of these counts for you, and read the calls that differ", view
        if better or worse:
            side = 1 if better else 0
            gate = ("steelyard", "gate", folders[side], "-j", judges[side], "--policy", "default")
            return f"see whether {(self.first, self.second)[side]} is good enough by itself", shlex.join(gate)
        if any(row.explained_by for row in self.rows) and not any(WEIGHED in row.group for row in self.rows):
            return ONE_LENGTH, ""
        row, data = next(((row, data) for row in undecided if (data := _more_data(row))), (None, ""))
        if not data and not self.knows_answers:
            return NO_ANSWERS, view
        if not undecided:
            return "take the one that costs less", ""
        row = row or undecided[0]
        difference = numbers.decimal(row.difference or 0.0, signed=True)
        return f"{data or NOT_FEASIBLE} like that of “{label(row)}” ({difference})", ""


def _figure(row: Comparison) -> str:
    """`accuracy (0.81 → 0.97, +0.16 [+0.09, +0.27])`."""
    first, second, difference = figures(row)
    return f"{label(row)} ({first} → {second}, {difference})"


def _more_data(row: Comparison) -> str:
    """How many more units would show a difference of this size; empty where no feasible number would."""
    detectable, difference = row.minimum_detectable or 0.0, abs(row.difference or 0.0)
    if not difference or detectable <= difference:
        return ""
    times = (detectable / difference) ** 2
    more = round(row.n_clusters * (times - 1))
    if row.probe in BUILT_IN:
        profile = profile_with(row.probe, row.group, row.n_pairs * times)
        return f"measure both with --profile {profile}, which would show a difference" if profile else ""
    if not 1 <= more <= 100 * row.n_clusters:
        return ""
    unit = "more row" if row.n_pairs == row.n_clusters else "more cluster"
    return f"measure both on about {pluralize(round_up(more), unit)}, which would show a difference"
