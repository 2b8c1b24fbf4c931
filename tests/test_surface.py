from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType

import pytest

import steelyard
import steelyard.charts
import steelyard.metrics
from steelyard.errors import UnknownNameError


@pytest.mark.parametrize("face", [steelyard, steelyard.metrics], ids=lambda face: face.__name__)
def test_a_face_is_real(face: ModuleType) -> None:
    assert [name for name in face.__all__ if isinstance(getattr(face, name), ModuleType)] == []
    names = [
        name for each in face._HOMES.values() for name in (each.split() if isinstance(each, str) else each)
    ]
    assert sorted(names) == sorted(set(face.__all__) - {"__version__"})


def test_the_public_names_for_charts_are_sorted_and_real() -> None:
    assert steelyard.charts.__all__ == sorted(steelyard.charts.__all__)
    assert all(hasattr(steelyard.charts, name) for name in steelyard.charts.__all__)


def test_the_face_of_metrics_has_no_module_for_a_name() -> None:
    # A file named like an exported function would take its place once it is imported.
    files = {path.stem for path in Path(steelyard.metrics.__path__[0]).iterdir()}
    assert files.isdisjoint(steelyard.metrics.__all__)


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
