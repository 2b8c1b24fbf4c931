"""Why a figure has no value, where a program decides on it."""

from __future__ import annotations


class Reason(str):
    """A sentence for people, with the code that stands in `Estimate.reason`."""

    __slots__ = ("code",)
    code: str
    """How files and programs name it."""

    def __new__(cls, code: str, sentence: str) -> Reason:
        """The sentence, with its code."""
        made = super().__new__(cls, sentence)
        made.code = code
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """What a copy is made of."""
        return self.code, str(self)
