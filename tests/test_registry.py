from __future__ import annotations

import pytest

from steelyard.core.registry import Registry, Spec
from steelyard.errors import UnknownNameError


def test_builds_from_a_spec() -> None:
    registry: Registry[dict[str, int]] = Registry("thing", {"table": "builtins:dict"})
    assert registry.build(Spec("table", {"a": 1})) == {"a": 1}


def test_an_unknown_name_suggests_the_nearest() -> None:
    registry: Registry[object] = Registry("probe", {"vacuum": "builtins:dict", "ladder": "builtins:dict"})
    with pytest.raises(UnknownNameError, match="unknown probe 'vacum': did you mean 'vacuum'"):
        registry.factory("vacum")
    with pytest.raises(UnknownNameError, match="known: ladder, vacuum"):
        registry.factory("zzz")


def test_names_in_order_are_those_declared_and_then_the_others() -> None:
    registry: Registry[object] = Registry("thing", {"second": "builtins:dict", "first": "builtins:dict"})
    registry.register("zeta", dict)
    registry.register("alpha", dict)
    assert registry.in_order() == ["second", "first", "alpha", "zeta"]
