"""Recorded verdicts on pairs of texts: lines in four styles, their table, and a run's calls as such lines.

The keys of a line tell its style:

- calls: one line per call, the project's own format;
- both orders: one line per pair and judge, the winner by identity (`winner_AB`, `winner_BA`, `gold`), as
  LLMBar publishes its verdicts;
- runs: the same with repeats, `runs` holding both winners of each run;
- one order: one line per pair, one `verdict_<judge>` per judge, shown in one order only, as PandaLM does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.arrays import Ints, encode_values
from steelyard.errors import DataError
from steelyard.importing.jsonl import (
    MOST_WORDS,
    Body,
    LineFormat,
    Lines,
    Name,
    RecordedLine,
    Sureness,
    count_words,
    parse,
)
from steelyard.importing.reader import Members, RecordedTable, read_recorded
from steelyard.stimuli.original import NATURAL_PROBE
from steelyard.stimuli.stimulus import (
    RECORDED,
    Expectation,
    Lineage,
    NoPreference,
    Prefers,
    RecordedText,
    Stimulus,
    StimulusSet,
    Unknown,
)
from steelyard.verdicts.call_answers import answer_word
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

REASON = "as recorded"
"""Reason of a recorded call without a verdict: the file does not say more."""

ABSENCES: dict[str, Verdict] = {
    "abstain": Abstained(),
    "unreadable": Unreadable(REASON),
    "failed": Failed(REASON),
}
VERDICTS: dict[str, Verdict] = {"1": Decided("1"), "2": Decided("2"), "tie": Tie(), **ABSENCES}
FIRSTS = ("u", "v")

KINDS = {
    "vacuum": ("empty", "blank", "identical"),
    "ladder": ("prefix", "same_subset", "different_subset", "filler"),
    "position": ("natural",),
}

VERDICT = "verdict_"
FIRST_STAGE = "(stage1)"
"""Added to the name of a prompt whose first stage is recorded beside its final winner."""
Winner = Literal["1", "2", "tie"]
Answer = Literal["1", "2", "tie", "abstain", "unreadable", "failed"]
GOLD = {"1": "u", "2": "v", "tie": "tie", None: None}


@dataclass(frozen=True)
class RecordedPair:
    """What a file says of a canonical pair; every call on it must say the same."""

    probe: str
    pair: str
    kind: str
    task: str | None = None
    """Cluster, by the file's own key; None where the file names none, so that each pair stands for itself."""
    stratum: str | None = None
    delta: float | None = None
    base_level: float | None = None
    better: str | None = None
    """`u`, `v`; `tie` where people found neither better; None where nothing better is known."""
    words_u: int | None = None
    words_v: int | None = None
    """Length of each text; None where the file does not say it."""

    @property
    def name(self) -> str:
        return self.pair

    @property
    def sort_key(self) -> tuple[str, ...]:
        return (self.pair,)


FACTS = tuple(f.name for f in fields(RecordedPair))
_facts = attrgetter(*FACTS)
Level = Annotated[float, Meta(ge=0), Field(ge=0, allow_inf_nan=False)]
Length = Annotated[int, Meta(ge=0, le=MOST_WORDS), Field(ge=0, le=MOST_WORDS)]


class PairCall(RecordedLine, kw_only=True, forbid_unknown_fields=True):
    """One call; msgspec decodes it, and the pydantic model of the same fields words what is wrong with it."""

    first: Literal["u", "v"]
    answer: Answer
    confidence: Sureness | UnsetType | None = UNSET
    probe: Literal["vacuum", "ladder", "position"]
    pair: Name
    kind: str
    task: Name | UnsetType | None = UNSET
    stratum: Name | UnsetType | None = UNSET
    delta: Level | UnsetType | None = UNSET
    base_level: Level | UnsetType | None = UNSET
    better: Literal["u", "v", "tie"] | UnsetType | None = UNSET
    words_u: Length | UnsetType | None = UNSET
    words_v: Length | UnsetType | None = UNSET


def disagreement(line: Any) -> str | None:
    """What a figure would silently leave out, in a sentence; None where the facts of a pair agree."""
    kinds = KINDS[line.probe]
    if line.kind not in kinds:
        return f"kind is {line.kind!r}, expected {' or '.join(kinds)} for {line.probe}; correct it."
    if line.kind == "prefix" and not (line.delta and line.better in ("u", "v")):
        return (
            "a prefix pair needs a delta above 0 and better u or v, "
            f"found delta {line.delta} and better {line.better}; add them."
        )
    equals = line.probe == "vacuum" or line.kind in ("same_subset", "different_subset", "filler")
    if equals and (line.delta or line.better is not None):
        return (
            f"a {line.kind} pair has no better text, found delta {line.delta} and better {line.better}; "
            "expected delta 0 and better null; correct it."
        )
    if (line.words_u is None) != (line.words_v is None):
        return (
            f"found words_u {line.words_u} and words_v {line.words_v}, expected the length of both texts or "
            "of neither; add the other."
        )
    return None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PairLine(_Strict):
    item_id: Name
    gold: Winner | None
    task: Name | None = None
    response_1: Any = None
    response_2: Any = None
    """The texts, where they are at hand; their words are counted, and no more is kept."""


class BothOrdersLine(PairLine):
    judge: Name
    winner_AB: Winner | None  # noqa: N815
    winner_BA: Winner | None  # noqa: N815
    prompt: Name = "base"
    stage1_AB: Winner | None = None  # noqa: N815
    stage1_BA: Winner | None = None  # noqa: N815


class RunsLine(PairLine):
    judge: Name
    runs: dict[Name, Annotated[list[Winner | None], Field(min_length=2, max_length=2)]] = Field(min_length=1)
    prompt: Name = "base"


class OneOrderLine(PairLine):
    """One pair, shown in one order; who wrote the texts is not read."""

    instruction: Any = None
    input: Any = None
    models: Any = None
    annotators: Any = None
    app: Any = None


def _both_orders(where: str, body: Body) -> Iterator[PairCall]:
    """Two calls from two winners by identity: with the second text in slot 1, winner "1" is in slot 2."""
    slot: dict[str | None, Answer] = {"1": "2", "2": "1", "tie": "tie", None: "unreadable"}
    for protocol, replicate, (ab, ba), line in _winners(where, body):
        call = {**_natural(line), "judge": line.judge, "protocol": protocol, "replicate": replicate}
        yield PairCall(**call, first="u", answer=ab or "unreadable")
        yield PairCall(**call, first="v", answer=slot[ba])


def _winners(
    where: str, body: Body
) -> Iterator[tuple[str, int, Sequence[Winner | None], BothOrdersLine | RunsLine]]:
    """Protocol, replicate and the winner in each order; runs become replicates by name: r1, r2, …, r10."""
    if "runs" in body and not {"winner_AB", "winner_BA"} & body.keys():
        runs = parse(RunsLine, where, body)
        for replicate, name in enumerate(sorted(runs.runs, key=lambda name: (len(name), name))):
            yield runs.prompt, replicate, runs.runs[name], runs
        return
    line = parse(BothOrdersLine, where, body)
    yield line.prompt, 0, (line.winner_AB, line.winner_BA), line
    if {"stage1_AB", "stage1_BA"} & line.model_fields_set:
        # The final winners of such prompts were made from both orders; the first stage is what order moved.
        yield f"{line.prompt}{FIRST_STAGE}", 0, (line.stage1_AB, line.stage1_BA), line


def _one_order(where: str, body: Body) -> Iterator[PairCall]:
    verdicts = {key: value for key, value in body.items() if key.startswith(VERDICT)}
    line = parse(OneOrderLine, where, {key: body[key] for key in body if key not in verdicts})
    pair = _natural(line)
    for key, value in verdicts.items():
        judge = key.removeprefix(VERDICT)
        if not judge or value not in list(GOLD):
            raise DataError(
                f"{where}: {key} is {value!r}, expected verdict_<judge> to be '1', '2', 'tie' or null; "
                "correct it."
            )
        yield PairCall(**pair, judge=judge, first="u", answer=value or "unreadable")


def _natural(line: PairLine) -> Body:
    """A natural pair; `subset#number` names tell the stratum."""
    subset, mark, _ = line.item_id.rpartition("#")
    facts: Body = {"probe": "position", "pair": line.item_id, "kind": "natural", "task": line.task}
    texts = line.response_1, line.response_2
    if all(isinstance(text, str) for text in texts):
        facts |= dict(zip(("words_u", "words_v"), map(count_words, texts), strict=True))
    return {**facts, "stratum": subset if mark and subset else None, "better": GOLD[line.gold]}


@dataclass(frozen=True, eq=False)
class PairTable(RecordedTable[RecordedPair]):
    @property
    def first(self) -> Ints:
        return self.of_outcomes(PAIRS.slot)

    @property
    def answer(self) -> Ints:
        known = list(VERDICTS)
        return self.of_outcomes(lambda outcome: known.index(outcome[1]))

    def members(self) -> Iterator[Members]:
        facts = zip(*map(_facts, self.subjects), strict=True)
        yield {key: encode_values(values) for key, values in zip(FACTS, facts, strict=True)}, self.subject
        outcome = map(encode_values, zip(*self.outcomes, strict=True))
        yield dict(zip(("first", "answer", "confidence"), outcome, strict=True)), self.outcome

    def observations(self) -> Observations:
        return Observations.recorded(
            judges=self.judges,
            protocols=self.protocols,
            verdicts=tuple(VERDICTS.values()),
            shown=StimulusColumns(self.stimuli.stimuli),
            judge=self.judge,
            protocol=self.protocol,
            stimulus=self.subject,
            order=self.first,
            replicate=self.replicate,
            verdict=self.answer,
            confidences=self.confidences[0],
            confidence=self.confidences[1][self.outcome],
        )

    @cached_property
    def stimuli(self) -> StimulusSet:
        return StimulusSet(tuple(map(pair_stimulus, self.subjects)))

    def stimulus_set(self) -> str:
        return self.stimuli.hash


def _styles(where: str, body: Body) -> Iterator[PairCall] | None:
    if any(key in body for key in ("winner_AB", "winner_BA", "runs")):
        return _both_orders(where, body)
    if any(key.startswith(VERDICT) for key in body):
        return _one_order(where, body)
    if {"item", "score", "variant"} & set(body):
        raise DataError(
            f"{where}: found a pointwise score, expected a pairwise verdict as in the first line; "
            "import scores from files of their own."
        )
    return None


PAIRS = LineFormat(
    PairTable,
    PairCall,
    disagreement,
    lambda line: RecordedPair(*_facts(line)),
    noun="pair",
    repeated="answered pair {name!r} in this order already ({where}), expected each call once; number "
    "repeats with 'replicate', or remove one.",
    styles=_styles,
    slots=FIRSTS,
)


def read_pairs(paths: Sequence[Path], lines: Lines | None = None) -> PairTable:
    return read_recorded(PAIRS, paths, lines)


def pair_stimulus(pair: RecordedPair) -> Stimulus:
    return Stimulus(
        id=pair.pair,
        probe=pair.probe,
        kind=pair.kind,
        cluster=pair.task or pair.pair,
        stratum=pair.stratum or "recorded",
        request="",
        texts=("", ""),
        expectation=_expectation(pair.better, natural=pair.probe == "position"),
        lineage=Lineage(parent=pair.task or pair.pair, edit="recorded elsewhere", author=RECORDED),
        delta=pair.delta,
        base_level=pair.base_level,
        recorded=None if pair.words_u is None else RecordedText(pair.words_u, second_words=pair.words_v),
    )


@cache
def _expectation(better: str | None, *, natural: bool) -> Expectation:
    if better in ("u", "v"):
        return Prefers(better)
    return Unknown() if natural and better is None else NoPreference()


def recording_of(observations: Iterable[Observation]) -> str:
    """A run's calls on pairs as JSONL, sorted; probes that the format does not know are left out."""
    calls = [o for o in observations if o.stimulus.kind in KINDS.get(o.stimulus.probe, ())]
    calls.sort(key=lambda o: (o.judge, o.protocol, o.stimulus.id, o.replicate, o.order))
    return "".join(json.dumps(_line(call)) + "\n" for call in calls)


def _line(call: Observation) -> dict[str, Any]:
    shown, wanted = call.stimulus, call.stimulus.expectation
    # Pairs of equals have no better text; a natural pair says `tie` where people found neither better.
    tie = "tie" if shown.probe == "position" and isinstance(wanted, NoPreference) else None
    facts: Body = {"probe": shown.probe, "pair": shown.id, "kind": shown.kind, "task": shown.cluster}
    facts |= {"stratum": shown.stratum, "delta": shown.delta, "base_level": shown.base_level}
    facts["better"] = wanted.content if isinstance(wanted, Prefers) else tie
    if shown.probe == NATURAL_PROBE and (lengths := shown.pair_lengths):
        facts |= dict(zip(("words_u", "words_v"), lengths, strict=True))
    return {
        "judge": call.judge,
        "protocol": call.protocol,
        **{key: value for key, value in facts.items() if value is not None},
        "first": call.order[0],
        "answer": answer_word(call.verdict),
        "replicate": call.replicate,
    }
