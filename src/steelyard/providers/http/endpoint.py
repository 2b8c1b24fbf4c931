"""A server: where it is, with which key it is addressed, and which form of each request field it accepts.

Some quirks of models are known by name. Sources: the vendors' guides to reasoning models (OpenAI "Reasoning
models", Anthropic "Migration guide" and "Adaptive thinking", Google "Gemini thinking", DeepSeek "Thinking
mode", xAI "Reasoning", Kimi "Parameter comparison"). A model that is not listed loses only one
rejected request: the error response says which field it does not take.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal

from pydantic import Field
from yarl import URL

from steelyard.core.dotenv import key_from
from steelyard.errors import ConfigError, ProviderRefusedError
from steelyard.providers.http.response_errors import ErrorBody
from steelyard.providers.provider_info import HttpOptions
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class ServerDefaults:
    url: str
    key_variable: str = ""
    url_variable: str = ""
    other_keys: tuple[str, ...] = ()
    version: str = ""
    """Put behind an address that has no path, where the vendor's own clients leave it out."""
    proxy_version: str = ""
    """The same behind an address that is not the vendor's, where proxies serve another."""
    hosts: str = ""
    """Pattern of the vendor's hosts, where they differ by resource or region."""

    def is_own(self, address: URL) -> bool:
        """Whether an address is one of the vendor's: exactly its host, and over https if the vendor's is."""
        usual = URL(self.url)
        if self.hosts:
            return address.scheme == "https" and re.fullmatch(self.hosts, address.host or "") is not None
        return address.host == usual.host and address.scheme in ("https", usual.scheme)

    def is_users(self, address: URL) -> bool:
        """Whether the user's environment names this address."""
        try:
            return self.parse_url(os.environ.get(self.url_variable), "") == address
        except ConfigError:  # unset, or no address
            return False

    def parse_url(self, text: object, where: str) -> URL:
        base = _parse_url(text, where)
        version = self.version if self.is_own(base) else self.proxy_version or self.version
        if version and base.path == "/":
            return base.joinpath(version).with_query(base.query)
        return base


_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_SECRETS = frozenset(
    ("key", "apikey", "subscriptionkey", "token", "accesstoken", "sig", "signature", "code", "secret")
)
"""Query parameters that hold a secret, in lower case, without `-` and `_`."""


@dataclass(frozen=True)
class Endpoint:
    base_url: URL
    key_variable: str
    key_required: bool
    timeout: float | None
    """Timeout of a call in seconds; None where the judge sets none and the runner's limit alone counts."""
    other_keys: tuple[str, ...] = ()

    @classmethod
    def for_judge(
        cls, judge: Judge, server: ServerDefaults, environ: Mapping[str, str] = os.environ
    ) -> Endpoint:
        where = f"judge {judge.address}"
        base = server.parse_url(
            judge.options.get("base_url") or environ.get(server.url_variable) or server.url, where
        )
        key_name = judge.options.get("api_key_env")
        required = key_name is not None or (bool(server.key_variable) and base == URL(server.url))
        key_variable, others = str(key_name or server.key_variable), () if key_name else server.other_keys
        return cls(base, key_variable, required, judge.options.get("timeout"), others)

    def url(self, *parts: str) -> URL:
        return _join(self.base_url, parts)

    @property
    def display_url(self) -> str:
        """The address for messages, without the query, which may hold a secret."""
        return str(self.base_url.with_query(None))

    @property
    def is_local(self) -> bool:
        return self.base_url.host in _LOOPBACK

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Variables that may hold the key; the first that is set counts."""
        return (self.key_variable, *self.other_keys) if self.key_variable else ()

    def key(self, where: str, environ: Mapping[str, str] | None = None) -> str:
        held = (key_from(name) if environ is None else environ.get(name, "") for name in self.key_variables)
        key = next((key.strip() for key in held if key.strip()), "")
        if not key and self.key_required:
            raise ProviderRefusedError(
                f"{where}: no key found; set the environment variable {self.key_variable}."
            )
        if not (key.isascii() and key.isprintable()):
            raise ProviderRefusedError(
                f"{where}: {self.key_variable} holds characters that no key has; copy the key again."
            )
        return key


@lru_cache(maxsize=64)
def _join(base: URL, parts: tuple[str, ...]) -> URL:
    return base.joinpath(*parts).with_query(base.query)


def _parse_url(text: Any, where: str) -> URL:
    try:
        url = URL(str(text).rstrip("/"))
        is_valid = url.scheme in ("http", "https") and bool(url.host) and bool(url.port)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ConfigError(
            f"{where}: base_url is not an address, expected one like http://127.0.0.1:8000/v1; correct it."
        )
    if url.user is not None or url.password is not None:
        raise ConfigError(
            f"{where}: base_url holds a user name or password; put the key into an environment variable "
            "and name it in api_key_env."
        )
    secrets = [name for name in url.query if name.lower().replace("-", "").replace("_", "") in _SECRETS]
    if secrets:
        raise ConfigError(
            f"{where}: base_url holds a key in its query parameter {secrets[0]!r}; remove it, put the key "
            "into an environment variable and name that in api_key_env."
        )
    return url.with_fragment(None)


@dataclass(frozen=True)
class Quirks:
    models: str = ""
    pattern: str = ""
    """How their names begin, after vendor and folder."""
    refuses: frozenset[str] = frozenset()
    thinks: bool = False
    """Thinks before it answers unless told otherwise, and its thoughts count against the token limit."""


def _quirks(models: str, pattern: str, *refuses: str, thinks: bool = True) -> Quirks:
    return Quirks(models, pattern, frozenset(refuses), thinks)


TABLE = (
    _quirks("gpt-5-chat", r"gpt-5-chat", "max_tokens", thinks=False),
    _quirks("o1, o3, o4, gpt-5", r"(o[134]|gpt-5)(-|$)", "max_tokens", "temperature", "logprobs"),
    _quirks("gpt-5.1 and later, gpt-latest", r"gpt-(5\.\d|[6-9]|latest)", "max_tokens"),
    _quirks("gpt-oss", r"gpt-oss"),
    _quirks("Claude Opus 4.7 and 4.8", r"claude-opus-4[-.][78]", "temperature", thinks=False),
    _quirks(
        "Claude 5 and later, the latest of a family, Claude Mythos",
        r"claude-(mythos|[a-z]+-(([5-9]|\d\d)([-.]|$)|latest))",
        "temperature",
    ),
    _quirks(
        "Gemini 2.5 and later, the latest of a family", r"gemini-(2\.5|[3-9]|(pro|flash|flash-lite)-latest)"
    ),
    _quirks("DeepSeek reasoner and R1", r"deepseek[-.](reasoner|r1)", "logprobs"),
    _quirks("DeepSeek V4 and later", r"deepseek-(v[4-9]|flash|pro)"),
    _quirks("Grok 3 mini, Grok 4 and later", r"grok-(3-mini|[4-9])"),
    _quirks(
        "Magistral, QwQ, Qwen 3, Kimi K2 Thinking, K2.5 and later, Kimi latest, GLM, MiniMax M",
        r"magistral|qwq|qwen-?3|kimi-(latest|k(2-thinking|2\.\d|[3-9]))|glm-(4\.\d|[5-9])|minimax-m\d",
    ),
)
"""The first whose pattern fits counts."""


@cache
def quirks_of(model: str) -> Quirks:
    """What is known of a model: `anthropic/claude-opus-5` at a gateway is what it is at its maker's."""
    return next((quirks for quirks in TABLE if re.match(quirks.pattern, _bare(model))), Quirks())


def _bare(model: str) -> str:
    """The name without folders, regions and vendors before it: `us.anthropic.claude-…` and `openai/gpt-…`."""
    name = model.lower().rpartition("/")[2].lstrip("~")
    return re.sub(r"^((us|eu|apac|global|au|jp|ca)\.)?(anthropic|openai|deepseek|qwen|minimax)\.", "", name)


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

ROOM: Mapping[str, int] = {
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}
"""Tokens that thoughts may take beside the answer, by effort; vendors count both against one limit."""


class ThinkingOptions(HttpOptions):
    owner = "models that think"

    effort: Effort | None = None
    thinking_tokens: int | None = Field(default=None, ge=0, le=10**6)
    """Tokens that it may spend on thoughts, beside `max_tokens` for the answer; 0 asks for none."""


def thinking_tokens(model: str, options: Mapping[str, Any]) -> int:
    if (tokens := options.get("thinking_tokens")) is not None:
        return int(tokens)
    if (effort := options.get("effort")) is not None:
        return ROOM[str(effort)]
    return ROOM["medium"] if quirks_of(model).thinks else 0


@dataclass(frozen=True)
class RequestField:
    name: str
    """What it is called among the judge's keys."""
    forms: tuple[str | None, ...]
    """Ways to send it, best first; None leaves it to the server, and without None it has to be sent."""
    error_names: tuple[str, ...] = ()
    """Names that error responses use for it; its own where there are none."""

    def is_rejected_by(self, error: ErrorBody) -> bool:
        return any(error.mentions(name) for name in self.error_names or (self.name,))


@dataclass(frozen=True)
class Dialect:
    """The forms of fields that a server rejected; it only ever grows."""

    steps: Mapping[str, int] = field(default_factory=dict)
    """How many forms of a field were rejected, by its name; absent where none was."""

    @classmethod
    def rejecting(cls, names: Collection[str]) -> Dialect:
        return cls(dict.fromkeys(names, 1))

    def form(self, field: RequestField) -> str | None:
        return field.forms[min(self.steps.get(field.name, 0), len(field.forms) - 1)]

    def merge(self, other: Dialect) -> Dialect:
        """What both have learnt: calls in flight at the same time learn apart."""
        if other is self:
            return self
        names = {*self.steps, *other.steps}
        return Dialect({name: max(self.steps.get(name, 0), other.steps.get(name, 0)) for name in names})

    def next_after(self, error: ErrorBody, sent: Sequence[RequestField]) -> Dialect | None:
        """The next dialect to try when the server objects to a field of ours; None when there is none."""
        for each in sent:
            step = self.steps.get(each.name, 0) + 1
            if step < len(each.forms) and each.is_rejected_by(error):
                return Dialect({**self.steps, each.name: step})
        return None

    def exhausted_field(self, error: ErrorBody, sent: Sequence[RequestField]) -> RequestField | None:
        return next(
            (each for each in sent if each.forms[-1] is not None and each.is_rejected_by(error)), None
        )
