"""Keywords: a judge that prefers the text which says a word more often."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from steelyard.providers import (
    Expected,
    Judge,
    JudgeExample,
    Options,
    Presentation,
    ProviderInfo,
    Reply,
    Settings,
)


class KeywordOptions(Options):
    """What is counted, and what difference counts."""

    word: Annotated[str, Field(pattern=r"^\w+$"), Expected("one word such as because")] = "because"
    """The word, whatever its case."""
    at_least: int = Field(default=1, ge=1)
    """Fewer more of them are a tie."""


class KeywordSettings(Settings):
    """What a protocol may change."""

    at_least: int | None = Field(default=None, ge=1)
    """The same under this protocol."""


class Keywords:
    """Prefers the text that says a word more often."""

    info = ProviderInfo(
        free=True,
        uses_prompt=False,
        can_write=False,
        can_score=False,
        seconds_per_call=0.0001,
        options=KeywordOptions,
        settings=KeywordSettings,
        examples=(
            JudgeExample("keywords/count?word=because", "prefers the text that says a word more often"),
        ),
    )
    concurrency = 64

    def __init__(self, judge: Judge) -> None:
        """Check the options; nothing is asked yet."""
        self._judge = judge
        self._options = KeywordOptions.of(judge)

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to release."""

    async def ask(self, presentation: Presentation) -> Reply:
        """Count in both texts and name the winner as the built-in prompts ask for it."""
        first, second = (text.lower().split().count(self._options.word) for text in presentation.slots.texts)
        at_least = presentation.settings.get("at_least", self._options.at_least)
        winner = "tie" if abs(first - second) < at_least else "1" if first > second else "2"
        return Reply(f'{{"winner": "{winner}"}}', served_model=self._judge.address)
