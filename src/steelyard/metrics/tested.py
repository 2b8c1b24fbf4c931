"""A test among the tests that were declared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.metrics.stats.power import ALPHA
from steelyard.metrics.stats.significance import holm


@dataclass(frozen=True)
class Tested:
    """A p, and what is left of it once its whole family is asked for one false alarm in twenty."""

    p: float
    """Of the test alone."""
    corrected: float
    """After Holm over the family."""
    family: int = 1
    """Tests in the family."""

    @property
    def shown(self) -> bool:
        """The test speaks, within its family."""
        return self.corrected <= ALPHA

    def told(self, members: str = "tests") -> str:
        """`p = 0.03, 0.09 after Holm over 3 tests`."""
        if self.family < 2:
            return f"p = {self.p:.2g}"
        return f"p = {self.p:.2g}, {self.corrected:.2g} after Holm over {self.family} {members}"


def alone(p: float) -> Tested:
    """A test that was declared by itself."""
    return Tested(p, p)


def family_of(tests: Mapping[str, float]) -> dict[str, Tested]:
    """The tests of one family, by name."""
    corrected = holm(list(tests.values()))
    return {
        name: Tested(p, left, len(tests)) for (name, p), left in zip(tests.items(), corrected, strict=True)
    }
