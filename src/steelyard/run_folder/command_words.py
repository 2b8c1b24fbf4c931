"""The words of a command as somebody typed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise


def arguments(words: Sequence[str]) -> Iterator[str]:
    """The words that no option stands before: the study file, where there is one."""
    return (word for before, word in pairwise(("", *words)) if not {before[:1], word[:1]} & {"-"})


def without(words: Iterable[str], *options: str) -> Iterator[str]:
    """The words without these options and their values."""
    skip = False
    for word in words:
        if not skip and word not in options:
            yield word
        skip = not skip and word in options
