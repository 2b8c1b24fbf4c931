"""Every option of every command, and every key of a study, told something that makes no sense.

Options are taken from the commands themselves, so that one that is added is asked here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from commands import Command, Done
from each import for_each
from steelyard.cli.help import COMMANDS
from steelyard.cli.main import cli
from steelyard.study.study_file import StudyConfig

HOSTILE = "\x1b[2Jx\ny"
"""Clears a terminal that obeys it, and begins another line."""
NUMBERS = ("x", "", "nan", "1e400", "--", HOSTILE)
"""No number that anybody could mean."""


def command_named(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def options() -> Iterator[tuple[str, click.Option]]:
    """Every option that takes a value, by command."""
    for name in COMMANDS:
        for parameter in command_named(name).params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                yield name, parameter


def is_typed(option: click.Option) -> bool:
    """Whether the option itself refuses what is no value of its type; paths and texts are looked at later."""
    return not isinstance(option.type, (click.Path, type(click.STRING)))


TYPED = [(name, option) for name, option in options() if is_typed(option)]
ALL = [(name, option) for name, option in options() if option.opts[-1] != "--yes"]
"""Those that cannot stand alone, as `--yes` can."""


def label(case: tuple[str, click.Option]) -> str:
    name, option = case
    return f"{name} {option.opts[-1]}"


def needed(name: str, folder: Path) -> list[object]:
    """Arguments without which the command is not even begun."""
    (folder / "run").mkdir(exist_ok=True)
    (folder / "v.jsonl").write_text("{}\n")
    return {
        "report": ["run"],
        "review": ["run"],
        "view": ["run"],
        "show": ["run"],
        "compare": ["run", "run"],
        "overall": ["run"],
        "gate": ["run"],
        "estimate": ["v.jsonl"],
        "labels plan": ["v.jsonl"],
        "labels draw": ["v.jsonl", "--out", "drawn"],
        "labels add": ["run"],
        "labels open": ["run"],
        "leaderboard": ["v.jsonl"],
        "people": ["v.jsonl"],
        "bridge": ["v.jsonl", "--from", "a", "--to", "b"],
        "import": ["v.jsonl", "--out", "imported"],
        "serve-planted": ["planted/tie"],
        "trust fit": ["v.jsonl"],
        "trust apply": ["v.jsonl", "v.jsonl", "--out", "decided.csv"],
        "trust check": ["v.jsonl", "v.jsonl"],
    }.get(name, [])


def assert_refused(done: Done, *told: str) -> None:
    """Exit 2, one sentence on stderr that names what was wrong, nothing on stdout."""
    assert done.code == 2, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "\x1b" not in done.err
    sentence = done.err.strip()
    assert sentence.startswith("steelyard: ")
    assert re.search(r"[.?]$", sentence), sentence
    for words in told:
        assert words in sentence, sentence


@for_each(("name", "option"), TYPED, label)
def test_a_value_of_the_wrong_type_is_refused_by_name(
    command: Command, tmp_path: Path, name: str, option: click.Option
) -> None:
    arguments = needed(name, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for value in NUMBERS:
        assert_refused(command(name, *arguments, f"{option.opts[-1]}={value}"), option.opts[-1])
    assert sorted(tmp_path.rglob("*")) == before


@for_each(("name", "option"), ALL, label)
def test_an_option_without_its_value_is_refused_by_name(
    command: Command, tmp_path: Path, name: str, option: click.Option
) -> None:
    assert_refused(command(name, *needed(name, tmp_path), option.opts[-1]), option.opts[-1])


@for_each("name", COMMANDS)
def test_an_unknown_option_is_refused(command: Command, tmp_path: Path, name: str) -> None:
    assert_refused(command(name, *needed(name, tmp_path), "--colour=red"), "--colour", f"{name} --help")


@pytest.mark.parametrize("name", [name for name in COMMANDS if needed(name, Path("/tmp"))])
def test_a_missing_argument_is_refused(command: Command, name: str) -> None:
    assert_refused(command(name), "Missing argument")


@for_each(("name", "option"), TYPED, label)
def test_the_twin_of_an_option_in_the_environment_is_refused_alike(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, option: click.Option
) -> None:
    twin = option.envvar
    assert isinstance(twin, str), f"{name} {option.opts[-1]} has no twin"
    assert twin.startswith("STEELYARD_")
    with monkeypatch.context() as changed:
        changed.setenv(twin, "x y")
        assert_refused(command(name, *needed(name, tmp_path)), option.opts[-1].lstrip("-"))


@for_each("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    for parameter in command_named(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"
            assert parameter.help[-1] in ".]", f"{name} {parameter.opts}: {parameter.help}"


@for_each("name", COMMANDS)
def test_no_option_of_a_command_hides_another(name: str) -> None:
    words = [word for parameter in command_named(name).params for word in parameter.opts]
    assert len(words) == len(set(words)), sorted(word for word in words if words.count(word) > 1)


TEXTS = {
    "--judge": ("", "planted", "planted/", "/x", "nobody/x", "planted/tie?x", HOSTILE),
    "--probe": ("", "vacum", "vacuum,", HOSTILE),
    "--columns": ("=", "a", "a=b=c,", "colour=x", HOSTILE),
    "--adapter": ("", "nobody", HOSTILE),
    "--scale": ("", "6-1", "1-1", "1-", "triple", HOSTILE),
    "--stratify": (HOSTILE,),
}


@pytest.mark.parametrize(
    ("option", "value"), [(o, v) for o, values in TEXTS.items() for v in values], ids=repr
)
def test_a_text_that_names_nothing_is_refused(
    command: Command, tmp_path: Path, option: str, value: str
) -> None:
    (tmp_path / "d.csv").write_text("request,response,label\na,b,1\n")
    judge = () if option == "--judge" else ("-j", "planted/rater")
    data = ("--data", "d.csv") if option in ("--columns", "--adapter", "--stratify") else ()
    done = command("plan", *judge, *data, f"{option}={value}")
    assert_refused(done)


@pytest.mark.parametrize(
    "rule",
    ["", "x", "dark_current", "dark_current<", "dark_current<2", "<0.1", "dark_current=0.1", "kappa<0.1"],
)
def test_a_rule_that_decides_nothing_is_refused(command: Command, rule: str) -> None:
    done = command("measure", "-j", "planted/tie", "--until", rule, "--out", "run")
    assert_refused(done, f"steelyard: --until {rule!r}: ")


# Keys of a study

WRONG: dict[str, tuple[Any, ...]] = {
    "name": (3, [], {}, "", "a/b", "..", "a b\n", None),
    "seed": ("seven", 1.5, [], {}, None, True),
    "profile": ("huge", 3, [], None),
    "replicates": (0, -1, 1001, "two", 1.5, [], None, True),
    "judges": ([], {}, "planted/tie", 3, None, [3], [None], [{}], [[]], [{"model": 3}], [{"colour": "red"}]),
    "task": (3, "x", [], {"colour": 1}, {"scale": 3}, {"scale": "6-1"}, {"rubric": 3}, {"instruction": []}),
    "data": (3, [], {}, {"path": 3}, {"path": "d.csv", "colour": 1}, {"path": "gone.csv"}),
    "checklists": (3, [], {}, "", ["own.yaml"], "gone.yaml"),
    "probes": (
        [],
        {},
        "vacuum",
        3,
        None,
        [3],
        [None],
        [{}],
        ["vacum"],
        [{"vacuum": 3}],
        [{"vacuum": {"x": 1}}],
    ),
    "author": (3, [], {"model": 3}, {"colour": "red"}),
    "validator": (3, [], {"model": 3}, {"colour": "red"}),
    "editing": (3, "x", [], {"colour": 1}, {"steps": 0}, {"planner": 3}),
    "review": (3, "yes", [], None),
}


def test_every_key_of_a_study_is_asked() -> None:
    assert set(WRONG) == set(StudyConfig.model_fields)


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG.items() for value in values]
)
def test_a_wrong_key_of_a_study_is_one_sentence_that_names_it(
    command: Command, tmp_path: Path, key: str, value: Any
) -> None:
    body: dict[str, Any] = {"judges": ["planted/tie"], "probes": ["vacuum"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({**body, key: value}))
    told = {"judges": "judge", "probes": "probe"}.get(key, key)
    assert_refused(command("plan", "study.yaml"), told)


@pytest.mark.parametrize(
    "text",
    [
        "\t- x",
        "a: [",
        "a: !!python/object:os.system x",
        "- 1",
        "3",
        "null",
        "\x00",
        "a: 1\na: 2",
        "judges: &a [*a]",
    ],
    ids=repr,
)
def test_a_file_that_is_no_study_is_one_sentence(command: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "study.yaml").write_text(text)
    assert_refused(command("plan", "study.yaml"), "study.yaml")
