"""A judge as a datasheet names it, and its card: what it is asked, how, where and at what price."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.core.json_dataclasses import from_body
from steelyard.core.text import pluralize
from steelyard.trials.judge import Judge

RECORDED = "recorded"
"""The model of a judge that was asked elsewhere."""


@dataclass(frozen=True)
class JudgeEntry:
    name: str
    model: str
    """`provider/model`, or `recorded`."""
    baseline: bool
    protocols: Mapping[str, str]
    """Protocol name to fingerprint; of recorded verdicts, that of the verdicts."""
    members: tuple[str, ...] = ()
    """Judges that are asked in its place, where it is made of others."""
    calls_per_verdict: int = 1

    @classmethod
    def of(cls, judge: Judge, protocols: Iterable[str]) -> JudgeEntry:
        """A judge of a study with the fingerprints of these protocols."""
        members = () if judge.composition is None else tuple(one.name for one in judge.leaf_judges)
        prints = {name: judge.fingerprint(name) for name in protocols}
        return cls(judge.name, judge.address, judge.baseline, prints, members, judge.calls_per_verdict)

    @property
    def instruments(self) -> Mapping[str, str]:
        """Protocol name to fingerprint of who was asked and how; none where verdicts were recorded."""
        return {} if self.model == RECORDED else self.protocols

    @property
    def made(self) -> str:
        """The model; of a judge made of others, whom it asks and how often."""
        if not self.members:
            return self.model
        each = pluralize(self.calls_per_verdict, "call")
        return f"{self.model} of {', '.join(self.members)}; {each} per verdict"

    def to_json(self) -> dict[str, Any]:
        """One entry under `judges` in `datasheet.json`; what it is made of where it is made of others."""
        body = {**vars(self), "protocols": dict(self.protocols), "members": list(self.members)}
        if not self.members:
            del body["members"], body["calls_per_verdict"]
        return body


@dataclass(frozen=True)
class PromptCard:
    protocol: str
    system: str | None
    user: str
    reader: str
    sent: str | None = None
    """The user message of one call as it was rendered, cut to a length."""


@dataclass(frozen=True)
class InstrumentCard:
    """Everything that decides a verdict, and where it is reached; never a key."""

    judge: str
    model: str
    prompted: bool
    """False for a judge that answers by the texts alone: its prompts are sent nowhere."""
    instruction: str
    rubric: str
    """The rubric; items and probes may bring their own."""
    scale: str
    temperature: float | None
    """None leaves it to the server."""
    max_tokens: int
    seed: int | None
    """Sent where the server takes one; repeats have seeds of their own."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of the request or the provider; values that look like secrets are not shown."""
    server: str | None = None
    """Host and port; None for the provider's own address or where there is no server."""
    price: str | None = None
    """Dollars per million tokens, and whose they are; None where nobody says."""
    members: tuple[str, ...] = ()
    """Judges that its verdicts are made of, where it is not asked itself."""
    prompts: tuple[PromptCard, ...] = ()


@dataclass(frozen=True)
class Service:
    """How a judge was served in one run: an entry of `run.instruments`."""

    calls: int = 0
    served: Mapping[str, int] = field(default_factory=dict)
    """Model that the server says it used, to calls; empty where it says nothing."""
    latency_p50: float | None = None
    """Median wall time of a call, in milliseconds."""
    latency_p95: float | None = None
    """Wall time that one call in twenty exceeds, in milliseconds."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Field of the request that the server would not take, to calls made without it."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Class of failure to calls."""
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """Reason why a reply held no answer, to calls."""


INSTRUMENTS_QUESTION = (
    "What was measured: prompts, decoding, reader, server and price, as the folder of the run has them."
)


@dataclass(frozen=True)
class CardText:
    judge: str
    facts: tuple[tuple[str, str], ...]
    """Label and text, one line each."""
    texts: tuple[tuple[str, str], ...]
    """Label and text of prompts and rubric, to be shown as they are."""


def card_texts(cards: Iterable[InstrumentCard], run: Mapping[str, Any]) -> list[CardText]:
    """The cards as labelled lines that every renderer shares, with how each judge was served in the run."""
    services = run.get("instruments", {})
    return [
        CardText(card.judge, tuple(_facts(card, from_body(Service, served, where))), tuple(_texts(card)))
        for card in cards
        for served, where in [(services.get(card.judge, {}), "run.instruments")]
    ]


def _facts(card: InstrumentCard, service: Service) -> Iterator[tuple[str, str]]:
    yield "model", card.model
    if card.members:
        yield "made of", ", ".join(card.members)
        return
    yield "scale", card.scale
    if card.prompted:
        yield "temperature", "left to the server" if card.temperature is None else f"{card.temperature:g}"
        yield "longest answer", pluralize(card.max_tokens, "token")
        yield "seed", "none" if card.seed is None else str(card.seed)
    alike = len({each.reader for each in card.prompts}) == 1
    readers = (each.reader if alike else f"{each.reader} ({each.protocol})" for each in card.prompts)
    yield "reader", ", ".join(dict.fromkeys(readers))
    yield from card.settings.items()
    if card.server is not None:
        yield "server", card.server
    yield from _served(service)
    yield "price", card.price or "not known"


def _served(service: Service) -> Iterator[tuple[str, str]]:
    if service.served:
        several = len(service.served) > 1
        yield "served model", _counts(service.served) if several else next(iter(service.served))
    median, slow = service.latency_p50, service.latency_p95
    if median is not None and slow is not None:
        yield "latency", f"{median:,.0f} ms median, {slow:,.0f} ms 95th percentile"
    if service.refused:
        yield "refused by the server", f"{_counts(service.refused)}, which were made without"
    for name, counts in (("failed", service.failed), ("unreadable", service.unreadable)):
        if counts:
            yield name, _counts(counts)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} in {pluralize(number, 'call')}" for name, number in counts.items())


def _texts(card: InstrumentCard) -> Iterator[tuple[str, str]]:
    """Prompts and rubric; a judge that is not prompted has a rubric that nobody reads."""
    if not card.prompted or card.members:
        return
    yield "instruction", card.instruction
    yield "rubric", card.rubric
    for prompt in card.prompts:
        if prompt.system is not None:
            yield f"system prompt, {prompt.protocol}", prompt.system
        yield f"prompt, {prompt.protocol}", prompt.user
        if prompt.sent is not None:
            yield f"prompt of one call as it was sent, {prompt.protocol}", prompt.sent
