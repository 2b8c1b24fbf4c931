"""A model behind HTTP: one attempt per call, in the form that its server is known to take.

The runner retries. The only repeats here are of requests that the server refused unread because it does not
know one of our fields; what it does not know is remembered and put on record. A protocol brings the two
spellings, of a request and of a reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from yarl import URL

from steelyard.errors import CallError, ConfigError, ProviderRefusedError
from steelyard.providers.traits import Traits
from steelyard.providers.wire.answer_schema import answer_schema
from steelyard.providers.wire.dialect import Dialect, Field
from steelyard.providers.wire.endpoint import Endpoint, Server
from steelyard.providers.wire.error_body import ErrorBody, parse_error
from steelyard.providers.wire.errors import answer_in, failure
from steelyard.providers.wire.frame import Frame, framed
from steelyard.providers.wire.quirks import quirks_of
from steelyard.providers.wire.thinking import thinking_room
from steelyard.providers.wire.wire import Answer, Wire
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

_UNKNOWN = Frame((), ())
REMEMBERED = 1024
"""Manners of asking that are kept at hand; one for each seed of a repeat."""


class HttpProvider(ABC):
    """One judge's connection to a server."""

    traits: ClassVar[Traits]
    """What its models are."""
    server: ClassVar[Server]
    """Where it is and how it is addressed unless the judge says otherwise."""
    protocol: ClassVar[str]
    """What its bodies are called in messages."""
    fields: ClassVar[tuple[Field, ...]]
    """What its requests hold beside model and messages; it knows no others."""
    verbatim: ClassVar[bool] = False
    """Its requests hold the texts of messages as they are, and depend on nothing that these say."""
    cools_thoughts: ClassVar[bool] = True
    """Takes a temperature from a model that is asked to think."""

    concurrency = 1024

    def __init__(self, judge: Judge) -> None:
        """Check the options; nothing is sent yet."""
        known = self.traits.options.model_fields
        for option in sorted(set(judge.options) - set(known)):
            raise ConfigError(
                f"judge {judge.address}: unknown option {option!r}; known here: {', '.join(known)}."
            )
        self.judge = judge
        endpoint = Endpoint.of(judge, self.located(judge))
        self.wire = Wire(endpoint, f"judge {judge.address} at {endpoint.place}", self.protocol)
        self._room = thinking_room(judge.model, judge.options)
        self._dialect = Dialect.without(quirks_of(judge.model).refuses)
        """What is known, and what was learnt from refusals that an answer followed."""
        self._answered = False
        self._sent: dict[object, dict[str, tuple[str, Any]]] = {}
        self._effective: dict[object, dict[str, Any]] = {}
        self._frames: dict[object, Frame | None] = {}

    def __init_subclass__(cls) -> None:
        """Whoever spells requests of another kind says anew whether they are verbatim."""
        super().__init_subclass__()
        if "request" in vars(cls) and "verbatim" not in vars(cls):
            cls.verbatim = False

    @classmethod
    def located(cls, judge: Judge) -> Server:
        """The server of a judge; where its place depends on the judge, that is told here."""
        del judge
        return cls.server

    @property
    def endpoint(self) -> str:
        """The server, whose limits all its judges share."""
        return self.wire.endpoint.place

    @abstractmethod
    def address(self) -> URL:
        """Where calls go."""

    @abstractmethod
    def request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        """The JSON body of one call."""

    @abstractmethod
    def read(self, body: dict[str, Any]) -> Reply:
        """The reply in a parsed body; latency and effective parameters are added."""

    async def open(self) -> None:
        """Find the key and make the session."""
        await self.wire.open()

    async def close(self) -> None:
        """Close every connection."""
        await self.wire.close()

    async def ask(self, presentation: Presentation) -> Reply:
        """Make one attempt at one call, in the server's dialect."""
        dialect = self._dialect
        while True:
            answer = await self.wire.post(
                self._address, self._body(presentation, dialect), presentation.trial
            )
            if answer.succeeded:
                reply = self.received(answer)
                self._dialect, self._answered = self._dialect.merged(dialect), True
                in_force = self._in_force(presentation, dialect)
                return reply.served(in_force, answer.latency_ms)
            learnt = self._objection(answer, dialect, presentation)
            if learnt is None:
                return self.wire.refused(answer)
            dialect = dialect.merged(learnt).merged(self._dialect)

    @cached_property
    def _address(self) -> URL:
        return self.address()

    def _body(self, presentation: Presentation, dialect: Dialect) -> bytes | dict[str, Any]:
        """The body of one call; where requests are verbatim, what calls share is spelled already."""
        messages = presentation.messages
        roles = [message.role if message.content else None for message in messages]
        if not self.verbatim or None in roles:
            return self.request(presentation, dialect)
        manner = _manner(presentation, dialect), *roles
        frame = self._frames.get(manner, _UNKNOWN)
        if frame is _UNKNOWN:
            if len(self._frames) >= REMEMBERED:
                self._frames.clear()
            frame = self._frames[manner] = framed(
                lambda marked: self.request(replace(presentation, messages=marked), dialect), messages
            )
        return self.request(presentation, dialect) if frame is None else frame.filled(messages)

    def prepared(self, presentation: Presentation) -> tuple[dict[str, Any], Dialect]:
        """The body of a call that is handed in with others, and the dialect it is in."""
        return self.request(presentation, self._dialect), self._dialect

    def delivered(self, presentation: Presentation, answer: Answer, dialect: Dialect) -> Reply | None:
        """What came of a call that was handed in with others; None where it has to be put otherwise."""
        if answer.succeeded:
            reply = self.received(answer)
            self._dialect, self._answered = self._dialect.merged(dialect), True
            usage = replace(reply.usage, batched=True)
            return replace(reply, effective=self._in_force(presentation, dialect), usage=usage)
        learnt = self._objection(answer, dialect, presentation)
        if learnt is None:
            return self.wire.refused(answer)
        self._dialect = self._dialect.merged(dialect).merged(learnt)
        return None

    def received(self, answer: Answer) -> Reply:
        """The reply that an answer holds."""
        return self.reading(self.wire.parsed(answer))

    def reading(self, body: dict[str, Any]) -> Reply:
        """The reply in a body of any shape; one that is not of the protocol is garbled."""
        try:
            return self.read(body)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise self.wire.garbled(f"a body of unexpected shape ({type(error).__name__})") from error

    def wanted(self, presentation: Presentation) -> dict[str, Any]:
        """What a call asks for beside its messages, by the judge's keys; what `extra` holds goes before."""
        decoding, options = presentation.decoding, self.judge.options
        asked = {
            "response_format": answer_schema(presentation) if presentation.wants == "json" else None,
            "max_tokens": decoding.max_tokens + self._room,
            "temperature": decoding.temperature,
            "seed": decoding.seed,
            "logprobs": True if presentation.wants == "logprobs" else None,
            "effort": options.get("effort"),
            "thinking_tokens": options.get("thinking_tokens"),
        }
        return {n: value for n, value in asked.items() if value is not None and n not in decoding.extra}

    def sent(self, presentation: Presentation, dialect: Dialect) -> dict[str, tuple[str, Any]]:
        """The fields that are really sent: form and value of each, by its name; worked out once a manner."""
        manner = _manner(presentation, dialect)
        if manner not in self._sent:
            if len(self._sent) >= REMEMBERED:
                self._sent.clear()
                self._effective.clear()
            self._sent[manner] = self._spelled(presentation, dialect)
        return self._sent[manner]

    def _spelled(self, presentation: Presentation, dialect: Dialect) -> dict[str, tuple[str, Any]]:
        wanted = self.wanted(presentation)
        if not self.cools_thoughts and (wanted.get("effort") or wanted.get("thinking_tokens")):
            wanted.pop("temperature", None)
        forms = {each.name: dialect.form(each) for each in self.fields if each.name in wanted}
        return {name: (form, wanted[name]) for name, form in forms.items() if form is not None}

    def _in_force(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        manner = _manner(presentation, dialect)
        known = self._effective.get(manner)
        if known is None:
            known = self._effective[manner] = self.effective(presentation, dialect)
        return known

    def effective(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        """The parameters in force instead of ours; None stands for the server's own choice."""
        sent, known = self.sent(presentation, dialect), {each.name: each for each in self.fields}
        changed: dict[str, Any] = {}
        for name, value in self.wanted(presentation).items():
            if name not in sent:
                changed[name] = None
            elif sent[name][0] != known[name].forms[0]:
                changed[name] = sent[name][0]
            elif name == "max_tokens" and self._room:
                changed[name] = value
        return changed

    def _objection(self, answer: Answer, dialect: Dialect, presentation: Presentation) -> Dialect | None:
        """What a refusal teaches about the server's dialect."""
        if answer.status not in (400, 422):
            return None
        error = parse_error(answer.text)
        if answer_in(answer.status, error) is not None:
            return None
        exception = failure(answer.status, error, answer.headers, self.wire.where, 0.0)
        # An overflow may name max_tokens too, but no other field would make the prompt fit.
        if not isinstance(exception, CallError) or exception.reason == "context_overflow":
            return None
        sent = self.sent(presentation, dialect)
        fields = [each for each in self.fields if each.name in sent]
        learnt = dialect.after(error, fields)
        if learnt is None and not self._answered and (field := dialect.last(error, fields)) is not None:
            raise ProviderRefusedError(
                f"{self.wire.where}: {self._complaint(field, sent[field.name][1], error)}"
            )
        return learnt

    def _complaint(self, field: Field, value: Any, error: ErrorBody) -> str:
        """A field that has to be sent, and that the server does not take in any form."""
        if field.name == "max_tokens":
            names = " nor ".join(str(form) for form in field.forms)
            takes = f"takes neither {names}" if len(field.forms) > 1 else f"does not take {names}"
            shown = f"{value - self._room}" + (f" plus {self._room} for thoughts" if self._room else "")
            return (
                f"the server {takes} ({error.message}); "
                f"set max_tokens, {shown} here, to what it allows, or use another server."
            )
        return (
            f"the server does not take {field.name}={value} ({error.message}); change the judge's key "
            f"{field.name!r}, or remove it."
        )


def _manner(presentation: Presentation, dialect: Dialect) -> object:
    """All that decides about a request beside its messages; calls of one manner are many."""
    shown = len(presentation.slots.texts)
    return presentation.wants, presentation.answers, shown, presentation.decoding.canonical, dialect.canonical
