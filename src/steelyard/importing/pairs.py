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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.json import Decoder
from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.arrays import Ints
from steelyard.core.dictionary_encoding import encode_values
from steelyard.errors import DataError
from steelyard.importing.jsonl import Body, Lines, Name, is_name, parse
from steelyard.importing.reader import Outcome, RecordedLine, line_model, read_recorded_calls
from steelyard.importing.recorded_table import Members, RecordedTable
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import RECORDED, Lineage, Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.verdicts.call_answers import answer_word
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

REASON = "as recorded"
"""Reason of a recorded call without a verdict: the file does not say more."""

VERDICTS: dict[str, Verdict] = {
    "1": Decided("1"),
    "2": Decided("2"),
    "tie": Tie(),
    "abstain": Abstained(),
    "unreadable": Unreadable(REASON),
    "failed": Failed(REASON),
}
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

    @property
    def name(self) -> str:
        return self.pair

    @property
    def sort_key(self) -> tuple[str, ...]:
        return (self.pair,)


FACTS = tuple(f.name for f in fields(RecordedPair))
_facts = attrgetter(*FACTS)
Level = Annotated[float, Meta(ge=0), Field(ge=0, allow_inf_nan=False)]


class PairCall(RecordedLine, kw_only=True, forbid_unknown_fields=True):
    """One call; msgspec decodes it, and the pydantic model of the same fields words what is wrong with it."""

    first: Literal["u", "v"]
    answer: Answer
    probe: Literal["vacuum", "ladder", "position"]
    pair: Name
    kind: str
    task: Name | UnsetType | None = UNSET
    stratum: Name | UnsetType | None = UNSET
    delta: Level | UnsetType | None = UNSET
    base_level: Level | UnsetType | None = UNSET
    better: Literal["u", "v", "tie"] | UnsetType | None = UNSET


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
    return None


PAIR_MODEL = line_model(PairCall, disagreement)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class BothOrdersLine(_Strict):
    item_id: Name
    judge: Name
    winner_AB: Winner | None  # noqa: N815
    winner_BA: Winner | None  # noqa: N815
    gold: Winner | None
    prompt: Name = "base"
    task: Name | None = None
    stage1_AB: Winner | None = None  # noqa: N815
    stage1_BA: Winner | None = None  # noqa: N815


class RunsLine(_Strict):
    item_id: Name
    judge: Name
    gold: Winner | None
    runs: dict[Name, Annotated[list[Winner | None], Field(min_length=2, max_length=2)]] = Field(min_length=1)
    prompt: Name = "base"
    task: Name | None = None


class OneOrderLine(_Strict):
    """One pair, shown in one order; texts and who wrote them are not read."""

    item_id: Name
    gold: Winner | None
    task: Name | None = None
    instruction: Any = None
    input: Any = None
    response_1: Any = None
    response_2: Any = None
    models: Any = None
    annotators: Any = None
    app: Any = None


class PairFormat:
    def __init__(self) -> None:
        self.decode: Callable[[str], RecordedLine] = Decoder(PairCall).decode

    def parse(self, where: str, body: Body) -> Iterator[PairCall]:
        if "winner_AB" in body or "winner_BA" in body:
            return _both_orders(where, body)
        if "runs" in body:
            return _runs(where, body)
        if any(key.startswith(VERDICT) for key in body):
            return _one_order(where, body)
        if {"item", "score", "variant"} & set(body):
            raise DataError(
                f"{where}: found a pointwise score, expected a pairwise verdict as in the first line; "
                "import scores from files of their own."
            )
        return iter([PairCall(**dict(parse(PAIR_MODEL, where, body)))])

    def agrees(self, line: PairCall) -> bool:
        names = (line.judge, line.protocol, line.pair, line.task, line.stratum)
        return all(name is None or is_name(str(name)) for name in names) and disagreement(line) is None

    def subject(self, line: PairCall) -> RecordedPair:
        return RecordedPair(*_facts(line))

    def probe(self, line: PairCall) -> str:
        """A pair is of one probe."""
        del line
        return ""

    def slot(self, outcome: Outcome) -> int:
        return FIRSTS.index(outcome[0])

    def repeated(self, judge: str, subject: RecordedPair, where: str) -> str:
        return (
            f"judge {judge!r} answered pair {subject.pair!r} in this order already ({where}), expected each "
            "call once; number repeats with 'replicate', or remove one."
        )

    def conflict(self, subject: RecordedPair, field: str, value: object, first: object, where: str) -> str:
        return (
            f"pair {subject.pair!r} has {field} {value!r}, expected {first!r} as in {where}; name the pairs "
            "apart, or correct one."
        )


def _both_orders(where: str, body: Body) -> Iterator[PairCall]:
    line = parse(BothOrdersLine, where, body)
    pair = _natural(line.item_id, line.task, line.gold)
    yield from _orders(pair, line.judge, line.prompt, line.winner_AB, line.winner_BA)
    if {"stage1_AB", "stage1_BA"} & line.model_fields_set:
        # The final winners of such prompts were made from both orders; the first stage is what order moved.
        first_stage = f"{line.prompt}{FIRST_STAGE}"
        yield from _orders(pair, line.judge, first_stage, line.stage1_AB, line.stage1_BA)


def _runs(where: str, body: Body) -> Iterator[PairCall]:
    """Runs become replicates, numbered by name: r1, r2, …, r10."""
    line = parse(RunsLine, where, body)
    pair = _natural(line.item_id, line.task, line.gold)
    for replicate, name in enumerate(sorted(line.runs, key=lambda name: (len(name), name))):
        ab, ba = line.runs[name]
        yield from _orders(pair, line.judge, line.prompt, ab, ba, replicate)


def _orders(
    pair: Body, judge: str, protocol: str, ab: Winner | None, ba: Winner | None, replicate: int = 0
) -> Iterator[PairCall]:
    """Two calls from two winners by identity: with the second text in slot 1, winner "1" is in slot 2."""
    slot: dict[str | None, Answer] = {"1": "2", "2": "1", "tie": "tie", None: "unreadable"}
    call = {**pair, "judge": judge, "protocol": protocol, "replicate": replicate}
    yield PairCall(**call, first="u", answer=ab or "unreadable")
    yield PairCall(**call, first="v", answer=slot[ba])


def _one_order(where: str, body: Body) -> Iterator[PairCall]:
    verdicts = {key: value for key, value in body.items() if key.startswith(VERDICT)}
    line = parse(OneOrderLine, where, {key: body[key] for key in body if key not in verdicts})
    pair = _natural(line.item_id, line.task, line.gold)
    for key, value in verdicts.items():
        judge = key.removeprefix(VERDICT)
        if not judge or value not in list(GOLD):
            raise DataError(
                f"{where}: {key} is {value!r}, expected verdict_<judge> to be '1', '2', 'tie' or null; "
                "correct it."
            )
        yield PairCall(**pair, judge=judge, first="u", answer=value or "unreadable")


def _natural(name: str, task: str | None, gold: str | None) -> Body:
    """A natural pair; `subset#number` names tell the stratum."""
    subset, mark, _ = name.rpartition("#")
    facts: Body = {"probe": "position", "pair": name, "kind": "natural", "task": task}
    return {**facts, "stratum": subset if mark and subset else None, "better": GOLD[gold]}


@dataclass(frozen=True, eq=False)
class PairTable(RecordedTable[RecordedPair]):
    @property
    def first(self) -> Ints:
        return self.of_outcomes(lambda outcome: FIRSTS.index(outcome[0]))

    @property
    def answer(self) -> Ints:
        known = list(VERDICTS)
        return self.of_outcomes(lambda outcome: known.index(outcome[1]))

    def members(self) -> Iterator[Members]:
        facts = zip(*map(_facts, self.subjects), strict=True)
        yield {key: encode_values(values) for key, values in zip(FACTS, facts, strict=True)}, self.subject
        firsts, answers = zip(*self.outcomes, strict=True)
        yield {"first": encode_values(firsts), "answer": encode_values(answers)}, self.outcome

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
        )

    @cached_property
    def stimuli(self) -> StimulusSet:
        return StimulusSet(tuple(map(pair_stimulus, self.subjects)))

    def stimulus_set(self) -> str:
        return self.stimuli.hash


def read_pairs(paths: Sequence[Path], lines: Lines | None = None) -> PairTable:
    return PairTable.of(read_recorded_calls(PairFormat(), paths, lines))


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
    facts = {
        "probe": shown.probe,
        "pair": shown.id,
        "kind": shown.kind,
        "task": shown.cluster,
        "stratum": shown.stratum,
        "delta": shown.delta,
        "base_level": shown.base_level,
        "better": wanted.content if isinstance(wanted, Prefers) else tie,
    }
    return {
        "judge": call.judge,
        "protocol": call.protocol,
        **{key: value for key, value in facts.items() if value is not None},
        "first": call.order[0],
        "answer": answer_word(call.verdict),
        "replicate": call.replicate,
    }
