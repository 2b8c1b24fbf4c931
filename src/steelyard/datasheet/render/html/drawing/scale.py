"""Scales: from the values of a channel to pixels, and the round values among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, copysign, floor, isfinite, log10, sqrt
from typing import Any

from steelyard.datasheet.render.html.drawing.spec import Spec, known

_BENDS: dict[str, Callable[[float], float]] = {
    "linear": float,
    "sqrt": lambda value: copysign(sqrt(abs(value)), value),
    "log": log10,
}
_FORMAT = re.compile(r"(?P<sign>\+?)(?P<comma>,?)(?:\.(?P<digits>\d+))?(?P<trim>~?)(?P<kind>[f%])")
_DIGITS = 6
"""Decimals of a format that does not say how many, and the most that a label has without a format."""


@dataclass(frozen=True)
class Numbers:
    """A scale of numbers."""

    start: float
    """Value at the left or lower end."""
    end: float
    """Value at the right or upper end."""
    length: float
    """Pixels between the two."""
    up: bool
    """True for the vertical channel, whose pixels count from the top."""
    kind: str = "linear"
    """`linear`, `sqrt` or `log`."""

    def place(self, value: Any) -> float | None:
        """The pixel of a value; None for none."""
        if value is None or not isfinite(value) or (self.kind == "log" and value <= 0):
            return None
        low, high, here = (_BENDS[self.kind](each) for each in (self.start, self.end, value))
        share = (here - low) / (high - low) if high != low else 0.5
        return self.length * (1 - share if self.up else share)

    def ticks(self, count: int | None) -> list[float]:
        """Round values between the ends."""
        low, high = sorted((self.start, self.end))
        if self.kind == "log":
            powers = [10.0**power for power in range(ceil(log10(low)), floor(log10(high)) + 1)]
            between = [each for power in powers for each in (power, 2 * power, 5 * power) if each <= high]
            return powers if len(powers) > 2 else between
        return round_values(low, high, count or ceil(self.length / 40))


@dataclass(frozen=True)
class Names:
    """A scale of names: each in the middle of its part."""

    names: tuple[str, ...]
    """From the left, or from the top."""
    length: float
    """Pixels that they share."""

    def place(self, value: Any) -> float | None:
        """The pixel of a name; None where it is none of them."""
        if value not in self.names:
            return None
        return (self.names.index(value) + 0.5) * self.length / len(self.names)


Scale = Numbers | Names


def scale_of(channel: str, layers: Sequence[Spec], length: float) -> Scale | None:
    """The scale that all layers share on `x` or `y`; None where none of them has that channel."""
    used = [each["encoding"][channel] for each in layers if channel in each["encoding"]]
    if not used:
        return None
    said: Spec = next((encoding["scale"] for encoding in used if encoding.get("scale")), {})
    known(f"scale of {channel}", said, ("type", "domain", "nice", "zero"))
    kind = next((encoding["type"] for encoding in used if "type" in encoding), "quantitative")
    values = list(_values(channel, layers))
    if kind in ("nominal", "ordinal"):
        sort = next((encoding["sort"] for encoding in used if "sort" in encoding), "ascending")
        return Names(_names(values, said.get("domain") or sort), length)
    if kind != "quantitative":
        expected = "'quantitative', 'nominal' or 'ordinal'"
        raise ValueError(f"type of {channel}: found {kind!r}, expected {expected}")
    form = said.get("type", "linear")
    known(f"scale of {channel}", [form], _BENDS)
    start, end = said.get("domain") or _reach(values, form, said)
    if form == "log" and min(start, end) <= 0:
        raise ValueError(f"scale of {channel}: found 'log' from {min(start, end):g}, expected above 0")
    return Numbers(start, end, length, channel == "y", form)


def _values(channel: str, layers: Sequence[Spec]) -> Iterator[Any]:
    for each in layers:
        for name in (channel, f"{channel}2"):
            encoding = each["encoding"].get(name, {})
            if "field" in encoding:
                yield from (row.get(encoding["field"]) for row in each["data"]["values"])


def _names(values: Sequence[Any], order: Any) -> tuple[str, ...]:
    """In the order given; otherwise as they come (None) or by the alphabet."""
    found = list(dict.fromkeys(value for value in values if value is not None))
    if order is None:
        return tuple(found)
    if isinstance(order, str):
        return tuple(sorted(found, reverse=order == "descending"))
    return tuple(dict.fromkeys([*order, *found]))


def _reach(values: Sequence[Any], form: str, said: Mapping[str, Any]) -> tuple[float, float]:
    """From the smallest value to the largest: with zero and out to round values, unless told not to."""
    seen = [value for value in values if value is not None and isfinite(value)] or [0.0, 1.0]
    if form == "log":
        seen = [value for value in seen if value > 0] or [1.0]
        return 10.0 ** floor(log10(min(seen))), 10.0 ** ceil(log10(max(seen)))
    low, high = min(seen), max(seen)
    if said.get("zero", True):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not said.get("nice", True):
        return low, high
    step = _step(low, high, 10)
    return floor(low / step) * step, ceil(high / step) * step


def _step(low: float, high: float, count: int) -> float:
    """The round distance, 1, 2 or 5 times a power of ten, that comes nearest to so many ticks."""
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    times = rough / power
    return power * (10 if times >= sqrt(50) else 5 if times >= sqrt(10) else 2 if times >= sqrt(2) else 1)


def round_values(low: float, high: float, count: int) -> list[float]:
    """About so many round values from `low` to `high`."""
    if not low < high:
        return [low]
    step = _step(low, high, count)
    digits = max(0, -floor(log10(step)))
    first, last = ceil(round(low / step, 9)), floor(round(high / step, 9))
    return [round(number * step, digits) for number in range(first, last + 1)]


def value_labels(values: Sequence[float], form: str | None) -> list[str]:
    """The values as text: by a format such as `.2~f` or `.0%`, or with as many decimals as they need."""
    if form is None:
        digits = next((n for n in range(_DIGITS) if all(round(v, n) == v for v in values)), _DIGITS)
        return [_signed(f"{value:,.{digits}f}") for value in values]
    parts = _FORMAT.fullmatch(form)
    if parts is None:
        expected = "one such as '.2~f', '+.1f', ',f' or '.0%'"
        raise ValueError(f"format of an axis: found {form!r}, expected {expected}")
    digits = int(parts["digits"]) if parts["digits"] else _DIGITS
    texts = [f"{value:{parts['sign']}{parts['comma']}.{digits}{parts['kind']}}" for value in values]
    return [_signed(_trimmed(text) if parts["trim"] else text) for text in texts]


def _trimmed(text: str) -> str:
    """Without the zeros that end the decimals."""
    return re.sub(r"(\.\d*?)0+(?=%?$)", lambda found: found[1].rstrip("."), text)


def _signed(text: str) -> str:
    """With the sign of the page; zero has none."""
    return text.lstrip("+-") if not re.search(r"[1-9]", text) else text.replace("-", "−")
