"""Keys of a judge that are its provider's own: strict, and checked before anything is spent.

A provider names a model of these in its info. `planted/probit?s=0.8` and `{model: planted/probit, s: 0.8}`
come to the same; what is not said stays None or has the default that the model gives it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from steelyard.core.dotenv import holds_key
from steelyard.core.validation import checked
from steelyard.trials.judge import Judge, Protocol

Own = TypeVar("Own", bound="Options")


def _one_line(text: str) -> str:
    """Refuse what would break a table or steer a terminal."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise PydanticCustomError("control_character", "no control characters")
    return text


def _visible(text: str) -> str:
    """Refuse a name that nobody sees."""
    if not text.strip():
        raise PydanticCustomError("blank", "a name with letters or digits")
    return text


def _variable(text: str) -> str:
    """Refuse what may be a key itself; the message must not repeat it."""
    parts = text.split("_")
    is_key = any(len(part) >= _KEY_LENGTH and any(map(str.isdigit, part)) for part in parts)
    if is_key or not (text.isascii() and text.isidentifier()):
        raise ValueError(
            "found what may be a key (not repeated here), expected the name of an environment variable; put "
            "the key into a variable such as MY_API_KEY and write that name"
        )
    return text


_KEY_LENGTH = 16
"""Letters and digits in a row that no name of a variable has."""


def field_with_key(body: object) -> str | None:
    """Name of the first field, however deep, whose value may be a key."""
    fields = body if isinstance(body, dict) else dict(enumerate(body)) if isinstance(body, list) else {}
    for name, value in fields.items():
        if isinstance(value, str) and holds_key(value):
            return str(name)
        if (inner := field_with_key(value)) is not None:
            return inner
    return None


Line = Annotated[str, AfterValidator(_one_line)]

Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_one_line), AfterValidator(_visible)]


class Options(BaseModel):
    """Keys of a judge in a study file, beside those that every judge has; by itself, none.

    The values end up in `Judge.options` and so in the judge's fingerprint, except those that are None and
    fields with `exclude=True`, which only shape the protocols.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, frozen=True, hide_input_in_errors=True
    )

    owner: ClassVar[str] = ""
    """Whose keys these are, where the provider's name does not say it; empty where judges of others may
    have such a key as well."""

    @classmethod
    def of(cls: type[Own], judge: Judge) -> Own:
        return checked(cls, dict(judge.options), f"judge {judge.address}", under="options")

    def stored(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class CallOptions(Options):
    owner = "judges behind HTTP"

    timeout: float | None = Field(default=None, gt=0)
    input_price: float | None = Field(default=None, ge=0)
    """Dollars per million tokens of the prompt."""
    output_price: float | None = Field(default=None, ge=0)
    """Dollars per million tokens of the answer."""

    @model_validator(mode="after")
    def _both_prices(self) -> CallOptions:
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError(
                "found one of input_price and output_price, expected both or neither "
                "(dollars per million tokens); add the other"
            )
        return self


class HttpOptions(CallOptions):
    base_url: Line | None = None
    """Address up to and including the version."""
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
    """Environment variable that holds the key."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Calls a minute at this address, by all judges that are there; the strictest statement counts."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Tokens a minute, of prompts and answers together."""


TRANSPORT_OPTIONS = frozenset((*HttpOptions.model_fields, "path"))


class Settings(Options):
    def applied(self, protocol: Protocol) -> Protocol:
        return replace(protocol, settings={**protocol.settings, **self.stored()})
