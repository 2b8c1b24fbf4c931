"""A plain function is another judge where what it reads of the user's other files is another."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy
import pytest

from commands import Command
from steelyard.core.foreign_code import import_place, without_code
from steelyard.providers.function.code_hash import code_hash
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary

JUDGE = """
    import prompts
    import prompts as renamed
    from prompts import PREFIX, ask, Asker
    asker = Asker()
    def by_constant(request, response): return len(prompts.SYSTEM + response) % 2
    def by_alias(request, response): return len(renamed.SYSTEM + response) % 2
    def by_name(request, response): return len(PREFIX + response) % 2
    def by_function(request, response): return len(ask(response)) % 2
    def by_module_function(request, response): return len(prompts.ask(response)) % 2
    def by_class(request, response): return len(Asker().ask(response)) % 2
    def by_object(request, response): return len(asker.ask(response)) % 2
    def by_late_import(request, response):
        import prompts
        return len(prompts.SYSTEM + response) % 2
    def by_late_name(request, response):
        from prompts import SYSTEM
        return len(SYSTEM + response) % 2
"""
PROMPTS = """
    SYSTEM, PREFIX, UNUSED, API_KEY = "be strict", "be brief", "x", "first"
    LEVEL = {"temperature": 0.1}
    def ask(text): return SYSTEM + text + str(LEVEL)
    class Asker:
        def ask(self, text): return SYSTEM + text
"""
CHANGES = {
    "by_constant": "be strict",
    "by_alias": "be strict",
    "by_name": "be brief",
    "by_function": "0.1",
    "by_module_function": "+ text + str",
    "by_class": "be strict",
    "by_object": "be strict",
    "by_late_import": "be strict",
    "by_late_name": "be strict",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield
    sys.modules.pop("prompts", None)


def fingerprint(name: str, before: str = "", after: str = "") -> str:
    Path("evals.py").write_text(dedent(JUDGE))
    Path("prompts.py").write_text(dedent(PROMPTS).replace(before, after) if before else dedent(PROMPTS))
    os.utime("prompts.py", (1, 1))  # bytecode on disk is told from another text by second and size alone
    for module in [each for each in sys.modules if each == "prompts" or each.startswith("steelyard_judge_")]:
        del sys.modules[module]
    return str(parse_judge(f"python/evals.py:{name}", Path(), Binary()).fingerprint("base"))


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_function_reads_of_another_file_is_part_of_the_judge(name: str) -> None:
    first, words = fingerprint(name), CHANGES[name]
    assert fingerprint(name) == first
    changed = words.replace("0.1", "0.9").replace("strict", "mild").replace("brief", "long")
    changed = changed.replace("+ text + str", "+ ' ' + text + str")
    assert fingerprint(name, words, changed) != first
    assert fingerprint(name, '"x"', '"y"') == first, "nothing reads it"
    assert fingerprint(name, '"first"', '"second"') == first, "another key is no other judge"


def test_a_module_is_a_file_of_the_users_as_soon_as_it_is_imported() -> None:
    Path("late.py").write_text("LEVEL = 1\ndef ask(text): return text * LEVEL\n")
    late: Any = import_place("late")

    def judge(request: str, response: str, ask: Callable[[str], str] = late.ask) -> int:
        return len(ask(response)) % 2

    del sys.modules["late"]
    code_hash(judge)
    sys.modules["late"] = late
    first, late.LEVEL = code_hash(judge), 2
    assert code_hash(judge) != first
    del sys.modules["late"]


def test_another_version_of_a_package_is_another_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_a_module(request: str, response: str) -> int:
        return int(numpy.size(response))

    def of_a_function(request: str, response: str, size: Callable[..., int] = numpy.size) -> int:
        return size(response)

    def of_nothing(request: str, response: str) -> int:
        return len(response)

    judges = of_a_module, of_a_function, of_nothing
    before = [code_hash(judge) for judge in judges]
    assert [code_hash(judge) for judge in judges] == before
    monkeypatch.setattr(numpy, "__version__", "0.1")
    assert [code_hash(judge) != old for judge, old in zip(judges, before, strict=True)] == [True, True, False]


def test_a_module_that_can_not_be_imported_is_told() -> None:
    Path("odd.py").write_text("def judge(request, response):\n    import absent_module\n    return 1\n")
    judge = parse_judge("python/odd.py:judge", Path(), Binary())
    assert judge.options["unseen"] == "the module absent_module"


@pytest.mark.parametrize("name", ["by_late_import", "by_late_name"])
def test_a_plan_does_not_guess_at_what_it_may_not_import(name: str) -> None:
    fingerprint(name)
    with without_code():
        assert "source" not in parse_judge(f"python/evals.py:{name}", Path(), Binary()).options


def test_a_changed_prompt_beside_the_judge_is_asked_anew(command: Command, tmp_path: Path) -> None:
    fingerprint("by_constant")
    (tmp_path / "items.csv").write_text("q,a,l\n" + "".join(f"Why {n}?,No {n}.,{n % 2}\n" for n in range(4)))
    (tmp_path / "rubric.md").write_text("Right.")
    words = (
        "measure",
        "-j",
        "python/evals.py:by_constant",
        "-p",
        "stochastic_stability",
        "--scale",
        "binary",
    )
    words += ("--data", "items.csv", "--columns", "request=q,response=a,label=l", "--rubric", "rubric.md")
    assert command(*words, "--out", "run").code == 0
    done = command(*words, "--out", "run")
    assert "No calls" in done.out
    fingerprint("by_constant", "be strict", "be mild")
    done = command(*words, "--out", "run")
    assert (done.code, "judges differ" in done.err) == (2, True), done.out + done.err
