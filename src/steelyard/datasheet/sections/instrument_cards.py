"""Instrument cards as labelled lines that every renderer shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.core.json_dataclasses import from_body
from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import InstrumentCard, PromptCard, Service

INSTRUMENTS_TITLE = "Instruments"
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


def card_texts(datasheet: Datasheet) -> list[CardText]:
    services = datasheet.run.get("instruments", {})
    return [
        CardText(card.judge, tuple(_facts(card, _service(services, card.judge))), tuple(_texts(card)))
        for card in datasheet.instruments
    ]


def _service(services: Mapping[str, object], judge: str) -> Service:
    return from_body(Service, services.get(judge, {}), "run.instruments")


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
    yield "reader", ", ".join(dict.fromkeys(_reader(prompt, card) for prompt in card.prompts))
    yield from card.settings.items()
    if card.server is not None:
        yield "server", card.server
    yield from _served(service)
    yield "price", card.price or "not known"


def _reader(prompt: PromptCard, card: InstrumentCard) -> str:
    alike = len({each.reader for each in card.prompts}) == 1
    return prompt.reader if alike else f"{prompt.reader} ({prompt.protocol})"


def _served(service: Service) -> Iterator[tuple[str, str]]:
    if service.served:
        yield (
            "served model",
            _counts(service.served) if len(service.served) > 1 else next(iter(service.served)),
        )
    if service.latency_p50 is not None and service.latency_p95 is not None:
        yield (
            "latency",
            f"{service.latency_p50:,.0f} ms median, {service.latency_p95:,.0f} ms 95th percentile",
        )
    if service.refused:
        yield "refused by the server", f"{_counts(service.refused)}, which were made without"
    if service.failed:
        yield "failed", _counts(service.failed)
    if service.unreadable:
        yield "unreadable", _counts(service.unreadable)


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
