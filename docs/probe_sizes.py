"""Tables of the calls that each probe of built-in pairs makes, counted from what it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES, Design, Showing

SIZES = re.compile(r"(?P<begin><!-- sizes: (?P<probe>\w+) -->)\n.*?(?P<end><!-- end of sizes -->)", re.DOTALL)
PROFILES = ("quick", "standard", "full")
SEED = 7


def filled(text: str) -> str:
    """A page with its tables of sizes as they should be."""
    return SIZES.sub(
        lambda mark: "\n".join((mark["begin"], "", *_table(mark["probe"]), "", mark["end"])), text
    )


def _step(showing: Showing) -> str:
    return f"`{showing.stimulus.kind}`, δ = {showing.stimulus.delta:g}"


def _kind(showing: Showing) -> str:
    return f"`{showing.stimulus.kind}`"


def _of_ladder(showing: Showing) -> str:
    return _step(showing) if showing.stimulus.kind == "prefix" else _kind(showing)


def _of_criterion(showing: Showing) -> str:
    return "vacuum" if showing.stimulus.probe == "vacuum" else _kind(showing)


def _of_tradeoff(showing: Showing) -> str:
    kind = showing.stimulus.kind
    return _kind(showing) if kind in ("same_subset", "prefix") else "each cue" if kind == "padding" else ""


LABELS: Mapping[str, Callable[[Showing], str]] = {
    "vacuum": _kind,
    "ladder": _of_ladder,
    "criterion": _of_criterion,
    "length": _step,
    "tradeoff": _of_tradeoff,
}
"""Probe to the row that a presentation counts in; an empty name counts in `all` alone."""


def showings(probe: str, profile: str) -> list[Showing]:
    """What the probe adds to a study; of `criterion` its strict condition, for base trials are shared."""
    every = PROBES.build(Spec(probe)).showings(Design(SEED, profile), ("base", "strict"))
    return [one for one in every if probe != "criterion" or one.protocol == "strict"]


def _table(probe: str) -> Iterator[str]:
    yield from (f"| {probe} | {' | '.join(PROFILES)} |", "| :-- | --: | --: | --: |")
    shown = [showings(probe, profile) for profile in PROFILES]
    counts = [Counter(map(LABELS[probe], every)) for every in shown]
    for label in sorted(filter(None, counts[-1]), key=lambda label: _place(label, shown[-1], probe)):
        yield _row(label, (count[label] for count in counts))
    yield _row("all", map(len, shown))
    if probe == "vacuum":  # both orders and all replicates of such a pair render to one prompt
        yield _row("distinct prompts", (len({one.stimulus.id for one in every}) for every in shown))
    yield _row("checklists", (len({one.stimulus.cluster for one in every}) for every in shown))


def _place(label: str, shown: list[Showing], probe: str) -> tuple[bool, int | float]:
    """Steps in their order, then the other kinds as the probe shows them."""
    first = next(n for n, one in enumerate(shown) if LABELS[probe](one) == label)
    step = "δ" in label
    return (not step, float(label.rpartition(" ")[2]) if step else first)


def _row(label: str, counts: Iterator[int] | map[int]) -> str:
    return f"| {label} | {' | '.join(f'{count:,}' for count in counts)} |"
