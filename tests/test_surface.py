from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import steelyard
from steelyard.errors import UnknownNameError


def test_the_surface_is_small_sorted_and_real() -> None:
    assert [name for name in steelyard.__all__ if not hasattr(steelyard, name)] == []
    assert set(steelyard._HOMES) == set(steelyard.__all__) - {"__version__"}


def test_measure_in_a_script(tmp_path: Path) -> None:
    sheet = steelyard.measure("planted/coin", probes=["vacuum"], out=tmp_path / "run")
    found = sheet.find("planted/coin", "dark_current", protocol="base")
    assert found is not None
    assert (found.value, found.numerator, found.denominator) == (1.0, 12, 12)


def test_measure_inside_a_running_loop(tmp_path: Path) -> None:
    async def cell() -> steelyard.Datasheet:
        return steelyard.measure("planted/tie", probes=["vacuum"], out=tmp_path / "run")

    found = asyncio.run(cell()).find("planted/tie", "dark_current", protocol="base")
    assert found is not None
    assert found.value == 0.0


def test_wrong_use_is_raised(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ladder'"):
        steelyard.measure("planted/tie", probes=["lader"], out=tmp_path / "run")
