"""Every package that a test imports is named in pyproject.toml, so that none is skipped for want of one.

And what `make quick` leaves out.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from conftest import slow_names
from docs_pages import ROOT

TESTS = ROOT / "tests"
LOCAL = {path.stem for folder in (TESTS, ROOT / "docs") for path in folder.rglob("*.py")}
LOCAL |= {path.name for path in TESTS.iterdir() if path.is_dir()} | {"steelyard"}
NAMES = {"google": {"google-genai"}, "yaml": {"pyyaml"}}
"""Distributions of imports whose names differ; others are looked up where they are installed."""
TOOLS = {"pip", "setuptools"}
"""Installed with the environment itself."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip":
            yield str(getattr(node.args[0], "value", ""))


@cache
def installed() -> Mapping[str, list[str]]:
    """Import to the distributions that have it: half a second, once for all files."""
    return packages_distributions()


@cache
def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    return {normal(re.split(r"[<>=!~\[; ]", line)[0]) for line in lines}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_every_import_is_in_an_extra(path: Path) -> None:
    known = declared()
    for name in {each.partition(".")[0] for each in imported(path)} - LOCAL - TOOLS - sys.stdlib_module_names:
        distributions = NAMES.get(name) or set(map(normal, installed().get(name, [name])))
        assert distributions & known, f"{name} is in no extra of pyproject.toml"


def test_quick_leaves_out_what_rests_on_a_command_and_nothing_else(tmp_path: Path) -> None:
    module = tmp_path / "test_module.py"
    module.write_text(
        "from commands import run_command\nfrom scores import rows\n"
        "def once(folder): return run_command(folder, 'measure')\n"
        "def twice(folder): return once(folder), once(folder)\n"
        "def test_of_a_command(tmp_path): assert twice(tmp_path)\n"
        "def test_of_a_fixture(steelyard: Steelyard): assert steelyard('plan')\n"
        "def test_of_a_function(): assert 1 + 1 == 2\n",
        encoding="utf-8",
    )
    named = {"run_command", "once", "twice", "test_of_a_command", "test_of_a_fixture"}
    assert slow_names(module) == named
