"""A model behind HTTP: one attempt per call, in the dialect that its server accepts.

The runner retries, with backoff. The only repeats here are of requests that the server rejected because it
does not know one of our fields; what it rejects is remembered and put on record. A protocol brings two
formats, of a request and of a response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, ClassVar

from yarl import URL

from steelyard.core.dotenv import keys_to_strike
from steelyard.errors import CallError, ProviderRefusedError
from steelyard.providers.http.endpoint import (
    ROOM,
    Dialect,
    Endpoint,
    RequestField,
    ServerDefaults,
    quirks_of,
    thinking_tokens,
)
from steelyard.providers.http.http_client import HttpClient, HttpResponse, encode
from steelyard.providers.http.redaction import MARK
from steelyard.providers.http.response_errors import ErrorBody, error_for_response, parse_error, refusal_reply
from steelyard.providers.provider_info import Destination, ProviderInfo
from steelyard.trials.judge import Judge, Presentation, Reply, Usage
from steelyard.trials.prompt import Message

UNKNOWN_ROOM = ROOM["medium"]
"""Tokens for thoughts of a model that turned out to think."""
REQUEST_KEYS = 256
"""Kinds of requests whose templates are at hand."""


@dataclass(frozen=True)
class RequestTemplate:
    """A request body, encoded once for all calls that ask alike and cut where texts of messages go."""

    effective: Mapping[str, Any]
    """The parameters in force instead of ours."""
    head: str = ""
    parts: tuple[tuple[int, str], ...] = ()
    """Number of a message, and what stands behind it; none where requests are not built of messages alone."""

    def render(self, messages: Sequence[Message]) -> bytes:
        """Texts as they are hashed, in escapes of ASCII, without their quotes."""
        pieces = [self.head]
        for number, rest in self.parts:
            pieces += messages[number].json_content[1:-1], rest
        return "".join(pieces).encode()


class HttpProvider(ABC):
    info: ClassVar[ProviderInfo]
    server: ClassVar[ServerDefaults]
    body_format: ClassVar[str]
    fields: ClassVar[tuple[RequestField, ...]]
    temperature_with_thinking: ClassVar[bool] = True
    lacks_effort_none: ClassVar[bool] = False
    """A budget of no tokens for thoughts says it there."""

    concurrency = 1024

    def __init__(self, judge: Judge) -> None:
        self.info.options.of(judge)  # refuses wrong ones
        self.judge = judge
        endpoint = Endpoint.for_judge(judge, self.server_for(judge))
        self.client = HttpClient(
            endpoint, f"judge {judge.address} at {endpoint.display_url}", self.body_format
        )
        self._thinking_tokens = thinking_tokens(judge.model, judge.options)
        self._dialect = Dialect.rejecting(quirks_of(judge.model).refuses)
        """What is known, and what was learnt from refusals that an answer followed."""
        self._answered = False
        self._keys = keys_to_strike()
        self._templates: dict[tuple[object, ...], RequestTemplate] = {}

    @classmethod
    def server_for(cls, judge: Judge) -> ServerDefaults:
        del judge
        return cls.server

    @property
    def endpoint(self) -> str:
        return self.client.endpoint.display_url

    @property
    def destination(self) -> Destination:
        endpoint, server = self.client.endpoint, self.server_for(self.judge)
        named = self.judge.options.get("api_key_env")
        vendors = named in (None, server.key_variable, *server.other_keys)
        own = server.is_own(endpoint.base_url) or (vendors and server.is_users(endpoint.base_url))
        return Destination(
            endpoint.display_url, endpoint.key_variables, is_own=own, is_named=named is not None
        )

    @abstractmethod
    def request_url(self) -> URL:
        """Where calls go."""

    @abstractmethod
    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        """The JSON body of one call; where there are `fields`, nothing else but messages is in it."""

    @abstractmethod
    def parse_body(self, body: dict[str, Any]) -> Reply:
        """The reply in a parsed body; latency and effective parameters are added."""

    async def open(self) -> None:
        await self.client.open()

    async def close(self) -> None:
        await self.client.close()

    def keep_connections(self, suspects: Sequence[str] = ()) -> None:
        if self.client.pool is not None:
            self.client.pool.keep_alive = True
            self.client.pool.suspects = [*suspects]

    def take_checks(self) -> tuple[list[str], list[str]]:
        pool = self.client.pool
        if pool is None:
            return [], []
        taken = pool.condemned, pool.checked
        pool.condemned, pool.checked = [], []
        return taken

    async def rest(self) -> None:
        if self.client.pool is not None:
            await self.client.pool.rest()

    async def ask(self, presentation: Presentation) -> Reply:
        presentation, struck = presentation.without(self._keys, MARK)
        dialect = self._dialect
        discarded: Usage | None = None
        while True:
            room, template = self._thinking_tokens, self.template(presentation, dialect)
            is_rendered = template.parts and all(message.content for message in presentation.messages)
            body = (
                template.render(presentation.messages)
                if is_rendered
                else self.build_request(presentation, dialect)
            )
            response = await self.client.post(self.request_url(), body, presentation.trial)
            if response.is_success:
                reply = self.parse_reply(response)
                self._dialect, self._answered = self._dialect.merge(dialect), True
                if self._learns_room(reply, room):
                    dialect, discarded = self._dialect, reply.usage
                    continue
                if discarded is not None and discarded != Usage():
                    reply = replace(reply, usage=reply.usage.plus(discarded))
                effective = {**template.effective, **_told(struck)} if struck else template.effective
                return reply.served(effective, response.latency_ms)
            next_dialect = self._next_dialect(response, dialect, presentation)
            if next_dialect is None:
                return self.client.reply_or_raise(response)
            dialect = dialect.merge(next_dialect).merge(self._dialect)

    def _learns_room(self, reply: Reply, room: int) -> bool:
        """Whether thoughts of a model that nobody knew to think cut its answer: then there is room for them.

        An alias such as `…-latest` and a deployment with a name of its own have the limits of the model
        behind them, which the reply names. A judge that says how much it may think is held to that.
        """
        if reply.finish != "length" or room or {"effort", "thinking_tokens"} & set(self.judge.options):
            return False
        if not (reply.usage.reasoning_tokens or quirks_of(reply.served_model or "").thinks):
            return False
        self._thinking_tokens = UNKNOWN_ROOM
        return True

    def build_batch_item(self, presentation: Presentation) -> tuple[dict[str, Any], Dialect]:
        presentation, _ = presentation.without(self._keys, MARK)
        return self.build_request(presentation, self._dialect), self._dialect

    def parse_batch_item(
        self, presentation: Presentation, response: HttpResponse, dialect: Dialect
    ) -> Reply | None:
        """The reply to a call in a batch; None where it has to be sent again in another dialect."""
        if response.is_success:
            reply = self.parse_reply(response)
            self._dialect, self._answered = self._dialect.merge(dialect), True
            usage = replace(reply.usage, batched=True)
            struck = _told(presentation.without(self._keys, MARK)[1])
            effective = {**self.template(presentation, dialect).effective, **struck}
            return replace(reply, effective=effective, usage=usage)
        next_dialect = self._next_dialect(response, dialect, presentation)
        if next_dialect is None:
            return self.client.reply_or_raise(response)
        self._dialect = self._dialect.merge(dialect).merge(next_dialect)
        return None

    def parse_reply(self, response: HttpResponse) -> Reply:
        return self.parse_checked(self.client.parse_json(response))

    def parse_checked(self, body: dict[str, Any]) -> Reply:
        try:
            reply = self.parse_body(body)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise self.client.malformed_response(
                f"a body of unexpected shape ({type(error).__name__})"
            ) from error
        # Parts of an answer may make up the key once they are joined.
        text = self.client.redact(reply.text)
        return reply if text == reply.text else replace(reply, text=text)

    def requested_fields(self, presentation: Presentation) -> dict[str, Any]:
        """What a call asks for beside its messages, by the judge's keys; what `extra` holds goes before."""
        decoding, options = presentation.decoding, self.judge.options
        asked = {
            "response_format": answer_schema(presentation.answers, len(presentation.slots.texts) > 1)
            if presentation.wants == "json"
            else None,
            "max_tokens": decoding.max_tokens + self._thinking_tokens,
            "temperature": decoding.temperature,
            "seed": decoding.seed,
            "logprobs": True if presentation.wants == "logprobs" else None,
            "effort": options.get("effort"),
            "thinking_tokens": options.get("thinking_tokens"),
        }
        requested = {n: one for n, one in asked.items() if one is not None and n not in decoding.extra}
        if self.lacks_effort_none and requested.get("effort") == "none":
            del requested["effort"]
            requested.setdefault("thinking_tokens", 0)
        return requested

    def template(self, presentation: Presentation, dialect: Dialect) -> RequestTemplate:
        """The one that all calls share which ask for the same, beside their messages."""
        key = (
            presentation.decoding.canonical,
            presentation.wants,
            presentation.answers,
            len(presentation.slots.texts),
            self._thinking_tokens,
            *[message.role for message in presentation.messages],
            *dialect.steps.items(),
        )
        known = self._templates.get(key)
        if known is None:
            if len(self._templates) >= REQUEST_KEYS:  # repeats with seeds of their own ask each for another
                self._templates.clear()
            known = self._templates[key] = self._build_template(presentation, dialect)
        return known

    def _build_template(self, presentation: Presentation, dialect: Dialect) -> RequestTemplate:
        effective = self.changed_fields(presentation, dialect)
        if not self.fields:
            return RequestTemplate(effective)
        mark = token_hex(16)
        marked = tuple(Message(m.role, f"{mark}{n:04}") for n, m in enumerate(presentation.messages))
        body = encode(self.build_request(replace(presentation, messages=marked), dialect)).decode()
        head, *rest = body.split(mark)
        parts = tuple((int(part[:4]), part[4:]) for part in rest)
        is_whole = sorted(number for number, _ in parts) == list(range(len(marked)))
        return RequestTemplate(effective, head, parts) if is_whole else RequestTemplate(effective)

    def sent_fields(self, presentation: Presentation, dialect: Dialect) -> Mapping[str, tuple[str, Any]]:
        """Form and value of each field that is really sent, by its name."""
        requested = self.requested_fields(presentation)
        if not self.temperature_with_thinking and (
            requested.get("effort") or requested.get("thinking_tokens")
        ):
            requested.pop("temperature", None)
        forms = {each.name: dialect.form(each) for each in self.fields if each.name in requested}
        return {name: (form, requested[name]) for name, form in forms.items() if form is not None}

    def changed_fields(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        """Requested fields that are sent otherwise; None stands for the server's own choice.

        A provider without fields builds its request by itself, and nobody knows what it left out.
        """
        if not self.fields:
            return {}
        sent, known = self.sent_fields(presentation, dialect), {each.name: each for each in self.fields}
        changed: dict[str, Any] = {}
        for name, value in self.requested_fields(presentation).items():
            if name not in sent:
                changed[name] = None
            elif sent[name][0] != known[name].forms[0]:
                changed[name] = sent[name][0]
            elif name == "max_tokens" and self._thinking_tokens:
                changed[name] = value
        return changed

    def _next_dialect(
        self, response: HttpResponse, dialect: Dialect, presentation: Presentation
    ) -> Dialect | None:
        if response.status not in (400, 422):
            return None
        error = parse_error(response.text)
        if refusal_reply(response.status, error) is not None:
            return None
        exception = error_for_response(response.status, error, response.headers, self.client.where, 0.0)
        # An overflow may name max_tokens too, but no other field would make the prompt fit.
        if not isinstance(exception, CallError) or exception.reason == "context_overflow":
            return None
        sent = self.sent_fields(presentation, dialect)
        fields = [each for each in self.fields if each.name in sent]
        next_dialect = dialect.next_after(error, fields)
        if (
            next_dialect is None
            and not self._answered
            and (field := dialect.exhausted_field(error, fields)) is not None
        ):
            raise ProviderRefusedError(
                f"{self.client.where}: {self._rejection_message(field, sent[field.name][1], error)}"
            )
        return next_dialect

    def _rejection_message(self, field: RequestField, value: Any, error: ErrorBody) -> str:
        if field.name == "max_tokens":
            names = " nor ".join(str(form) for form in field.forms)
            takes = f"takes neither {names}" if len(field.forms) > 1 else f"does not take {names}"
            shown = f"{value - self._thinking_tokens}" + (
                f" plus {self._thinking_tokens} for thoughts" if self._thinking_tokens else ""
            )
            return (
                f"the server {takes} ({error.message}); "
                f"set max_tokens, {shown} here, to what it allows, or use another server."
            )
        return (
            f"the server does not take {field.name}={value} ({error.message}); change the judge's key "
            f"{field.name!r}, or remove it."
        )


def _told(struck: tuple[str, ...]) -> dict[str, Any]:
    return {"struck": list(struck)} if struck else {}


def answer_schema(answers: Sequence[str], several: bool) -> dict[str, Any]:
    """Schema of the answer, on one text or several; an absent reason is null, as strict servers want it."""
    answer: dict[str, Any]
    if several:
        key, answer = "winner", {"type": "string", "enum": list(answers)}
    else:
        key, answer = "score", {"type": "integer", "enum": [int(score) for score in answers]}
    return {
        "type": "object",
        "properties": {"reason": {"type": ["string", "null"]}, key: answer},
        "required": ["reason", key],
        "additionalProperties": False,
    }
