"""Recorded calls line by line, each read carefully: what the reader's columns are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from steelyard.importing.jsonl import Body, parse_object, text_lines
from steelyard.importing.pairs import FACTS, PAIRS, VERDICTS, RecordedPair, pair_stimulus
from steelyard.importing.scores import SCORES
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation


def read_lines(path: Path) -> Iterator[tuple[str, Body]]:
    """Every line of a file as an object, for readers of files that are no JSONL."""
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, parse_object(where, line)


class Call(NamedTuple):
    judge: str
    protocol: str
    pair: RecordedPair
    replicate: int
    first: str
    answer: str

    @property
    def order(self) -> str:
        return "uv" if self.first == "u" else "vu"

    def to_json(self) -> dict[str, Any]:
        facts = {name: getattr(self.pair, name) for name in FACTS}
        return {
            "judge": self.judge,
            "protocol": self.protocol,
            **{name: value for name, value in facts.items() if value is not None},
            "first": self.first,
            "answer": self.answer,
            "replicate": self.replicate,
        }


def read_calls(path: Path) -> list[Call]:
    """The calls of a file, in its order."""
    calls = []
    for where, body in read_lines(path):
        found: Iterator[Any] = PAIRS.parse(where, body)
        for line in found:
            known = {name: value or None for name, value in asdict(line).items() if name not in LEVELS}
            known |= {name: getattr(line, name) for name in LEVELS}
            pair = RecordedPair(**{name: _known(known[name]) for name in FACTS})
            call = line.judge, line.protocol or "base", pair, line.replicate or 0, line.first, line.answer
            calls.append(Call(*call))
    return calls


LEVELS = ("delta", "base_level")


def _known(value: Any) -> Any:
    return value if isinstance(value, (str, float)) else None


def sorted_calls(path: Path) -> list[Call]:
    """The same in the order of a table."""
    return sorted(read_calls(path), key=lambda c: (c.judge, c.protocol, c.pair.pair, c.replicate, c.first))


def observations_of(calls: Iterable[Call]) -> list[Observation]:
    """One observation per call."""
    return [
        Observation(
            judge=call.judge,
            protocol=call.protocol,
            stimulus=pair_stimulus(call.pair),
            order=call.order,
            replicate=call.replicate,
            verdict=VERDICTS[call.answer],
            usage=Usage(),
            prompt="",
        )
        for call in calls
    ]


def score_lines(path: Path, scale: str | None = None) -> list[dict[str, Any]]:
    """Scores of a file as lines of `observations.jsonl`, sorted; `scale` is that of lines that name none."""
    calls = []
    for where, body in read_lines(path):
        found: Iterator[Any] = SCORES.parse(where, body)
        for line in found:
            text = SCORES.subject(line)
            absence = {} if line.outcome is None else {"outcome": line.outcome}
            facts = {**text.facts, "scale": text.scale or scale}
            names = [name for name in ORDER if name in facts]
            key = line.judge, line.protocol, line.probe, *text.sort_key, line.replicate
            made = {name: facts[name] for name in names} | {"probe": line.probe}
            call = {"judge": line.judge, "protocol": line.protocol, **made, "score": line.score, **absence}
            calls.append((key, {**call, "replicate": line.replicate}))
    return [body for _, body in sorted(calls, key=lambda call: call[0])]


ORDER = (
    *("probe", "item", "variant", "edit", "level", "expected", "task", "stratum", "scale"),
    *("failing", "words", "run", "change_depth", "changed_words", "kind"),
)
