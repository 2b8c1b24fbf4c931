"""Which column plays which part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.validation import checked, parse_map
from steelyard.errors import ConfigError
from steelyard.tasks.scale import Pairwise, Scale

POINTWISE = ("response",)
TRANSCRIPT = ("messages",)
PAIRWISE = ("response_1", "response_2")


class Columns(BaseModel):
    """The map of columns: part to name in the file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    request: str | None = Field(default=None, min_length=1)
    """What was asked; without it the request is empty."""
    response: str | None = Field(default=None, min_length=1)
    """The text that is scored (binary and ordinal scales)."""
    messages: str | None = Field(default=None, min_length=1)
    """An agent's run as a list of chat messages, in the place of `response`."""
    response_1: str | None = Field(default=None, min_length=1)
    """First text of a pair (pairwise scale)."""
    response_2: str | None = Field(default=None, min_length=1)
    """Second text of a pair (pairwise scale)."""
    label: str | None = Field(default=None, min_length=1)
    """Reference answer on the scale; empty cells have none."""
    id: str | None = Field(default=None, min_length=1)
    """Name of the row; without it rows are numbered from 1."""
    cluster: str | None = Field(default=None, min_length=1)
    """What rows share, so that they are not independent; without it each row stands for itself."""
    rubric: str | None = Field(default=None, min_length=1)
    """Rubric of the row: a text, or a list of points."""
    reference: str | None = Field(default=None, min_length=1)
    """Reference response."""
    author: str | None = Field(default=None, min_length=1)
    """Model that wrote the response."""
    author_1: str | None = Field(default=None, min_length=1)
    """Model that wrote the first text of a pair."""
    author_2: str | None = Field(default=None, min_length=1)
    """Model that wrote the second text of a pair."""

    def used(self) -> Iterator[tuple[str, str]]:
        """Part and column, for each part that is mapped."""
        for part in Columns.model_fields:
            column = getattr(self, part)
            if column is not None:
                yield part, column

    def over(self, parts: Mapping[str, str]) -> Columns:
        """This map laid over what a format says of its own columns."""
        return Columns(**{**parts, **dict(self.used())})

    def check(self, scale: Scale) -> None:
        """One response for scores, two for pairs, and authors to match."""
        pairs = isinstance(scale, Pairwise)
        mapped = {part for part, _ in self.used()}
        single = TRANSCRIPT if "messages" in mapped else POINTWISE
        needed = PAIRWISE if pairs else single
        others = [part for part in (*POINTWISE, *TRANSCRIPT, *PAIRWISE) if part not in needed]
        authors = ("author",) if pairs else ("author_1", "author_2")
        kind = "a pairwise scale" if pairs else "a scale of scores"
        for part in needed:
            if part not in mapped:
                raise ConfigError(f"columns: {part} is not mapped, expected it for {kind}; map it.")
        for part in (*others, *authors):
            if part in mapped:
                raise ConfigError(
                    f"columns: {part} is mapped, expected {' and '.join(needed)} for {kind}; remove it."
                )
        if len(mapped & {"author_1", "author_2"}) == 1:
            raise ConfigError("columns: one of author_1 and author_2 is mapped, expected both; map it.")


def parse_columns(text: str) -> Columns:
    """The map as the command line writes it: `request=test_case,response=generation`."""
    example = "request=prompt,response=answer,label=score"
    return checked(Columns, parse_map(text, "columns", "PART=COLUMN", example), "columns")
