"""Names of judges that fit a figure or a column."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 24
"""Letters after which a name is cut; a data table carries it whole."""


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names that fit and still differ: without the provider, cut at an end or in the middle, or numbered."""
    if any(len(name) > LONGEST for name in names):
        bare = {name: name.rpartition("/")[2] or name for name in names}
        if len(set(bare.values())) == len(bare) and all(len(short) <= LONGEST for short in bare.values()):
            return bare
    for cut in (_cut_end, _cut_middle):
        shortened = {name: cut(name) for name in names}
        if len(set(shortened.values())) == len(shortened):
            return shortened
    return {name: f"{number}: {_cut_end(name)}" for number, name in enumerate(dict.fromkeys(names), start=1)}


def _cut_end(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _cut_middle(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else name[: half - 1] + "…" + name[-half:]
