"""The four styles of recorded pairwise verdicts, told apart by the keys of a line.

- calls: one line per call, the project's own format;
- both orders: one line per pair and judge, the winner by identity (`winner_AB`, `winner_BA`, `gold`), as
  LLMBar publishes its verdicts;
- runs: the same with repeats, `runs` holding both winners of each run;
- one order: one line per pair, one `verdict_<judge>` per judge, shown in one order only, as PandaLM does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from steelyard.errors import DataError
from steelyard.importing.call import Call, Pair
from steelyard.importing.lines import Body, Lines, parse, read_lines

KINDS = {
    "vacuum": ("empty", "blank", "identical"),
    "ladder": ("prefix", "same_subset", "different_subset", "filler"),
    "position": ("natural",),
}
"""Conditions of each probe whose verdicts can be recorded."""

VERDICT = "verdict_"
FIRST_STAGE = "(stage1)"
"""Added to the name of a prompt whose first stage is recorded beside its final winner."""
Winner = Literal["1", "2", "tie"]
GOLD = {"1": "u", "2": "v", "tie": "tie", None: None}


def is_name(text: str) -> bool:
    """Whether a text can be a name: no line breaks, no outer spaces."""
    return text.isprintable() and (" " not in text or text == " ".join(text.split())) and bool(text)


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"found {text!r}, expected a name without line breaks or outer spaces; correct it.")
    return text


Name = Annotated[str, AfterValidator(_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CallLine(_Strict):
    """One call in the project's own format."""

    judge: Name
    probe: Literal["vacuum", "ladder", "position"]
    pair: Name
    kind: str
    first: Literal["u", "v"]
    answer: Literal["1", "2", "tie", "abstain", "unreadable", "failed"]
    protocol: Name = "base"
    task: Name | None = None
    stratum: Name | None = None
    delta: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    base_level: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    better: Literal["u", "v", "tie"] | None = None
    replicate: int = Field(default=0, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _agree(self) -> CallLine:
        """Refuse what a figure would silently leave out."""
        kinds = KINDS[self.probe]
        if self.kind not in kinds:
            raise ValueError(
                f"kind is {self.kind!r}, expected {' or '.join(kinds)} for {self.probe}; correct it."
            )
        if self.kind == "prefix" and not (self.delta and self.better in ("u", "v")):
            raise ValueError(
                "a prefix pair needs a delta above 0 and better u or v, "
                f"found delta {self.delta} and better {self.better}; add them."
            )
        equals = self.probe == "vacuum" or self.kind in ("same_subset", "different_subset", "filler")
        if equals and (self.delta or self.better is not None):
            raise ValueError(
                f"a {self.kind} pair has no better text, found delta {self.delta} and better {self.better}; "
                "expected delta 0 and better null; correct it."
            )
        return self


NAMES = frozenset({"judge", "protocol", "pair", "task", "stratum"})
"""What a call may say in any words; nothing else of the line depends on them."""


class BothOrdersLine(_Strict):
    """One pair of one judge, the winner named by identity in each order."""

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
    """One pair of one judge, asked several times in both orders; winners by identity."""

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


def read_calls(path: Path, lines: Lines = read_lines) -> Iterator[Call]:
    """Every call of a file, whichever style its lines have."""
    for where, body in lines(path):
        if "winner_AB" in body or "winner_BA" in body:
            yield from _both_orders(where, body)
        elif "runs" in body:
            yield from _runs(where, body)
        elif any(key.startswith(VERDICT) for key in body):
            yield from _one_order(where, body)
        else:
            yield call_of(where, body)


def call_of(where: str, body: Body) -> Call:
    """A line of the project's own format."""
    if {"item", "score", "variant"} & set(body):
        raise DataError(
            f"{where}: found a pointwise score, expected a pairwise verdict as in the first line; "
            "import scores from files of their own."
        )
    line = parse(CallLine, where, body)
    pair = Pair(
        probe=line.probe,
        pair=line.pair,
        kind=line.kind,
        task=line.task,
        stratum=line.stratum,
        delta=line.delta,
        base_level=line.base_level,
        better=line.better,
    )
    return Call(line.judge, line.protocol, pair, line.first, line.answer, line.replicate, where)


def _both_orders(where: str, body: Body) -> Iterator[Call]:
    line = parse(BothOrdersLine, where, body)
    pair = _natural(line.item_id, line.task, line.gold)
    yield from _orders(where, line.judge, line.prompt, pair, line.winner_AB, line.winner_BA)
    if {"stage1_AB", "stage1_BA"} & line.model_fields_set:
        # The final winners of such prompts were made from both orders; the first stage is what order moved.
        arm = f"{line.prompt}{FIRST_STAGE}"
        yield from _orders(where, line.judge, arm, pair, line.stage1_AB, line.stage1_BA)


def _runs(where: str, body: Body) -> Iterator[Call]:
    """Runs become replicates, numbered by name: r1, r2, …, r10."""
    line = parse(RunsLine, where, body)
    pair = _natural(line.item_id, line.task, line.gold)
    for replicate, name in enumerate(sorted(line.runs, key=lambda name: (len(name), name))):
        ab, ba = line.runs[name]
        yield from _orders(where, line.judge, line.prompt, pair, ab, ba, replicate)


def _orders(
    where: str, judge: str, protocol: str, pair: Pair, ab: str | None, ba: str | None, replicate: int = 0
) -> Iterator[Call]:
    """Two calls from two winners by identity: with the second text in slot 1, winner "1" is in slot 2."""
    slot = {"1": "2", "2": "1", "tie": "tie", None: "unreadable"}
    yield Call(judge, protocol, pair, "u", ab or "unreadable", replicate, where)
    yield Call(judge, protocol, pair, "v", slot[ba], replicate, where)


def _one_order(where: str, body: Body) -> Iterator[Call]:
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
        yield Call(judge, "base", pair, "u", value or "unreadable", 0, where)


def _natural(name: str, task: str | None, gold: str | None) -> Pair:
    """A natural pair; `subset#number` names tell the stratum."""
    subset, mark, _ = name.rpartition("#")
    return Pair("position", name, "natural", task, subset if mark and subset else None, better=GOLD[gold])
