"""Messages to prompt tokens, in the form SmolLM2 was trained on (ChatML)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from steelyard.errors import ProviderRefusedError
from steelyard.providers.embedded.tokens import Tokenizer
from steelyard.trials.presentation import Message, Slots

Stage: TypeAlias = tuple[int, ...]

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the model's own template says where there is no system message."""


class Chat:
    """Renders chats for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self._start = tokenizer.control("<|im_start|>")
        self._end = tokenizer.control("<|im_end|>")

    def stages(self, messages: Sequence[Message], slots: Slots) -> tuple[Stage, ...]:
        """Prompt tokens up to the assistant's turn, cut where prompts part.

        Prompts of one judge are alike up to the request, those of one request up to the first candidate, then
        up to its end where they show the same one first, and two protocols may be alike up to the end of
        the last candidate. Stages that prompts share are read once.
        """
        if not messages or messages[0].role != "system":
            messages = (Message("system", DEFAULT_SYSTEM), *messages)
        tokens: list[int] = []
        cuts: list[int] = []
        for message in messages:
            text = f"{message.role}\n{message.content}"
            encoded = self._encode(text)
            tokens.append(self._start)
            cuts = [len(tokens) + encoded.tokens_before(place) for place in _places(text, slots)]
            tokens += [*encoded.ids, self._end, *self._encode("\n").ids]
        tokens += [self._start, *self._encode("assistant\n").ids]
        return tuple(tuple(tokens[a:b]) for a, b in pairwise([0, *cuts, len(tokens)]) if a < b)

    def turn(self, text: str) -> Stage:
        """What the assistant says to give exactly this text and stop."""
        return (*self._encode(text).ids, self._end)

    def first_tokens(self, answers: Sequence[str]) -> dict[str, int]:
        """The token with which each answer begins a turn; there is no space before it."""
        tokens = {answer: self._encode(answer).ids[0] for answer in answers}
        if len(set(tokens.values())) < len(tokens):
            raise ProviderRefusedError(
                f"the embedded judge tells answers apart by their first token, and some of "
                f"{', '.join(answers)} begin alike: use a scale of single digits, or another judge."
            )
        return tokens


def _places(text: str, slots: Slots) -> list[int]:
    """Where the request begins, the first candidate begins, and each candidate ends."""
    places, searched = [], 0
    if slots.request and (start := text.find(slots.request)) >= 0:
        places.append(start)
        searched = start + len(slots.request)
    for number, candidate in enumerate(slots.texts):
        if candidate and (start := text.find(candidate, searched)) >= 0:
            searched = start + len(candidate)
            places += [start, searched] if number == 0 else [searched]
    return places
