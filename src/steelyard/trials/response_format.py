"""The form of answer that a reader reads: what the prompt and the server are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from steelyard.core.registry import Spec
from steelyard.trials.builtin_prompts import asking_bare, asking_json


def as_it_is(user: str) -> str:
    return user


@dataclass(frozen=True)
class ResponseFormat:
    wants: str = "text"
    tokens: int = 1
    asked_in: Callable[[str], str] = as_it_is
    """A built-in user message, made to ask for this form; the built-in ones ask for JSON."""


_AS_PROMPTED = ResponseFormat()
_FORMS = {
    "json": ResponseFormat("json", 12, asking_json),
    "choice": ResponseFormat(asked_in=asking_bare),
    "logprob": ResponseFormat("logprobs", asked_in=asking_bare),
}


def response_format(reader: Spec) -> ResponseFormat:
    """The form for a reader; a pattern is written for the prompt at hand, and changes nothing in it.

    A server is given a schema for the usual answers only: with words or a key of its owner's, a judge is held
    to the prompt alone.
    """
    form = _FORMS.get(reader.name, _AS_PROMPTED)
    return replace(form, wants="text") if form.wants == "json" and reader.args else form
