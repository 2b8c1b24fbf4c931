"""Help that can be copied, names that can be copied, and the nearest name for a mistyped one."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from commands import Command
from docs_world import Vendor
from servers import ScriptedServer
from steelyard.cli.help import COMMANDS, EXAMPLES
from steelyard.cli.main import cli
from steelyard.probes.probe import PROBES

ITEMS = "question,answer,ok\n" + "".join(f"how {n}?,so {n},{n % 2}\n" for n in range(6))
MEASURED = (
    "steelyard measure -j openai/gpt-4o-mini -p vacuum -p ladder",
    "steelyard measure -j planted/probit --out run",
)
"""Examples that other tests run as they are: here they are planned."""
SLOW = {"selftest", "serve-planted", "generate", "review", "view"}
"""Commands that other tests run: a whole selftest, servers without an end, an author."""


def commands(name: str) -> list[str]:
    """The examples of a command as its help prints them, each on one line."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    text = command.get_help(click.Context(command, info_name=name, max_content_width=100))
    shown = text.partition("Examples:\n")[2].partition("\n\n")[0].replace("\\\n", "")
    return [" ".join(line.split()) for line in re.findall(r"^ +steelyard .*$", shown, re.MULTILINE)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_begin_with_it(name: str) -> None:
    assert len(commands(name)) == len(EXAMPLES[name]) > 0
    assert all(line.startswith(f"steelyard {name}") for line in commands(name))


def test_examples_are_of_commands_that_exist() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SLOW])
def test_examples_run(name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(Vendor()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        prepare(name, command, tmp_path)
        for line in commands(name):
            done = command(*shlex.split(line)[1:], *(["--dry-run"] if line in MEASURED else []))
            expected = {0, 3, 4} if name == "gate" else {0}
            assert done.code in expected, (line, done.err)


def prepare(name: str, command: Command, folder: Path) -> None:
    """The files that the examples of a command name."""
    (folder / "items.csv").write_text(ITEMS)
    (folder / "rubric.md").write_text("What is asked for counts, and nothing else.\n")
    if name == "init":  # it looks at what lies in the folder
        return
    if name not in ("study", "init"):  # their examples write this file, and none is overwritten
        (folder / "study.yaml").write_text("judges: [planted/probit]\nprobes: [vacuum]\n")
    (folder / "config.yml").write_text(
        "admin: {module_name: m, dataset_config: {dataset_name: items.csv}, "
        "evaluation_config: {template: single_judge, autograder_model_name: openai/gpt-4o}}\n"
    )
    (folder / "policy.yaml").write_text("unreadable_rate: {max: 0.2}\n")
    call = {"judge": "j", "probe": "position", "task": "t", "pair": "p", "first": "u", "answer": "1"}
    (folder / "verdicts.jsonl").write_text(
        "".join(json.dumps({**call, "kind": "natural", "first": first}) + "\n" for first in "uv")
    )
    labels = ("yes", "no", "yes", "yes")
    (folder / "ratings.csv").write_text(
        "item,request,response,verdict,human\n"
        + "".join(
            f"{n},Ask {n},Say {n},{labels[n % 4]},{labels[n % 3] if n < 40 else ''}\n" for n in range(90)
        )
    )
    (folder / "votes.csv").write_text(
        "item,system_a,system_b,verdict,human\n"
        + "".join(f"{n},p,q,{'ab'[n % 2]},{'ab'[n % 3 > 0] if n < 30 else ''}\n" for n in range(60))
    )
    (folder / "anchors.csv").write_text(
        "item,old,new\n" + "".join(f"{n},{n % 2},{n % 3 and n % 2}\n" for n in range(60))
    )
    (folder / "history.csv").write_text("period,value,items\nMay,0.78,500\n")
    (folder / "rated.csv").write_text(
        "item,verdict,ann,bob\n" + "".join(f"{n},{n % 2},{n % 2},{n % 3 and n % 2}\n" for n in range(60))
    )
    right = ("1", "1", "0", "1")
    (folder / "verdicts.csv").write_text(
        "item,quick,sure,verdict,confidence,human\n"
        + "".join(f"{n},{right[n % 4]},0.{n % 7},{n % 2},0.{99 - n % 50},{n % 2}\n" for n in range(300))
    )
    (folder / "audited.csv").write_text((folder / "verdicts.csv").read_text())
    (folder / "ratings.jsonl").write_text('{"item": "1", "rater": "j", "kind": "judge", "value": 1}\n')
    pairs = ("measure", "-j", "planted/probit", "-j", "planted/coin", "-p", "vacuum")
    made = {
        "report": [("run", pairs)],
        "gate": [("run", pairs)],
        "show": [("run", pairs)],
        "compare": [
            ("run", pairs),
            *((out, ("measure", "-j", "planted/tie", "-p", "vacuum")) for out in ("before", "after")),
        ],
        "export": [("run", ("measure", "-j", "planted/rater", "-p", "forged_result"))],
        "overall": [
            (out, ("measure", "-j", "planted/rater", "-p", "typos", "--scale", "binary", "--seed", seed))
            for out, seed in (("first", 7), ("second", 8))
        ],
    }
    for out, run in made.get(name, []):
        done = command(*run, "--out", out)
        assert done.code == 0, done.err
    if name in ("trust apply", "trust check"):
        fit = ("trust", "fit", "verdicts.csv", "--judge", "verdict", "--signal", "confidence")
        assert command(*fit, "--people", "human").code == 0
    if name in ("labels add", "labels open"):
        draw = ("labels", "draw", "ratings.csv", "--judge", "verdict", "-n", "40", "--out", "labels")
        assert command(*draw).code == 0
        sheet = folder / "labels" / "sheet.csv"
        sheet.write_text(sheet.read_text().replace(",,\n", ",1,\n"))
        assert command("labels", "add", "labels", sheet).code == 0


# Order


def sections(text: str) -> dict[str, list[str]]:
    """Heading to the names that stand under it."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if heading := re.match(r"(\w.*):$", line):
            names = found.setdefault(heading[1], [])
        elif name := re.match(r"  (?:-\w, )?(\S+)", line):
            names.append(name[1])
    return found


def test_commands_stand_in_groups_in_the_order_of_use(command: Command) -> None:
    groups = sections(command("--help").out)
    assert groups["Start"] == ["init", "demo", "measure", "plan", "view", "show"]
    assert groups["Decide"][:4] == ["compare", "gate", "estimate", "trust"]
    assert {"import", "export", "labels"} <= set(groups["Data"])
    assert {"selftest", "serve-planted"} <= set(groups["Laboratory"])
    listed = [name for group in ("Start", "Decide", "Data", "Laboratory") for name in groups[group]]
    assert sorted(listed) == sorted({name.partition(" ")[0] for name in COMMANDS})


def test_what_most_users_need_of_measure_stands_on_the_first_screen(command: Command) -> None:
    text = command("measure", "--help").out
    options = sections(text)
    common = options["Options"]
    assert len(common) <= 16
    assert common[:3] == ["--judge", "--prompt", "--data"]
    assert {"--columns", "--scale", "--until", "--budget", "--out", "--dry-run"} <= set(common)
    assert "--backoff" in options["How calls are made"]
    assert "--stratify" in options["Which rows, and how they are read"]
    shown = [name for names in options.values() for name in names if name.startswith("--")]
    measure = cli.get_command(click.Context(cli), "measure")
    assert measure is not None
    known = [p.opts[0] for p in measure.params if isinstance(p, click.Option) and not p.hidden]
    assert sorted(shown) == sorted({*known, "--help"})


# Mistyped


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mesure",), "no command 'mesure': did you mean 'measure'; see `steelyard --help`."),
        (("raport", "run"), "did you mean 'report'"),
        (("xyz",), "no command 'xyz': known: init, demo, measure,"),
        (("measure", "--profle", "quick"), "no option '--profle': did you mean '--profile'; see"),
        (("plan", "--zzz"), "no option '--zzz'; see `steelyard plan --help`."),
    ],
)
def test_the_nearest_name_is_told(command: Command, arguments: tuple[str, ...], told: str) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert told in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("judge: [planted/tie]\n", "unknown key 'judge' (did you mean 'judges'?)"),
        ("judges: [planted/tie]\nprobe: [vacuum]\n", "(did you mean 'probes'?)"),
        ("judges: [planted/tie]\nprofil: quick\n", "(did you mean 'profile'?)"),
        ("judges: [{model: planted/tie, nam: x}]\n", "(did you mean 'name'?)"),
    ],
)
def test_the_nearest_key_of_a_study_is_told(command: Command, tmp_path: Path, body: str, told: str) -> None:
    (tmp_path / "s.yaml").write_text(body)
    done = command("plan", "s.yaml")
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(
    "body",
    [
        "judges: planted/tie\n",
        "judges: [[1]]\n",
        "judges: [3]\n",
        "judges: [planted/tie]\nprobes: vacuum\n",
        "judges: [planted/tie]\nprobes: [3]\n",
        "judges: [planted/tie]\nseed: x\n",
        "judges: [planted/tie]\nreplicates: 1.5\n",
        "judges: [planted/tie]\nname: [1]\n",
        "judges: [planted/tie]\nprofile: huge\n",
        "judges: [planted/tie]\ntask: {scale: {ordinal: [1]}}\n",
        "judges: [planted/tie]\ndata: 3\n",
        "judges: [{model: planted/tie, temperature: warm}]\n",
        "- a\n",
    ],
)
def test_no_message_speaks_of_the_library_behind_it(command: Command, tmp_path: Path, body: str) -> None:
    (tmp_path / "s.yaml").write_text(body)
    done = command("plan", "s.yaml")
    assert done.code == 2
    assert "s.yaml: " in done.err or "judge 'planted/tie': " in done.err
    assert not re.search(r"[Ii]nput should|should be a valid|should match|instance of|pydantic", done.err)


# Names


@pytest.mark.parametrize("width", ["20", "80"])
def test_names_of_probes_are_never_broken(
    command: Command, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    lines = command("probes").out.splitlines()
    assert {line.split("  ")[0] for line in lines if line[:1].strip()} >= set(PROBES.names())
    assert "…" not in "".join(lines)


def test_metrics_are_told_of_the_probes_that_are_named(command: Command) -> None:
    text = command("probes", "ladder").out
    assert "\n    delta75\n" in text
    assert "\ntypos" not in text
    done = command("probes", "laddr")
    assert done.code == 2
    assert "did you mean 'ladder'?" in done.err


def test_judges_are_never_broken(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = command("judges").out.splitlines()
    assert "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02" in " ".join(lines)
    assert any(line.startswith("embedded/smollm2-135m-likelihood") for line in lines)


LONG = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02&seed=4"


def test_a_plan_has_one_row_per_judge(command: Command) -> None:
    text = command("plan", "-j", "planted/probit", "-j", "planted/coin").out
    rows = [line.split() for line in text.splitlines()]
    calls = {row[0]: row[1] for row in rows if len(row) >= 6}
    assert calls == {"planted/probit": "144", "planted/coin": "72", "all": "216"} | calls


def test_a_plan_by_probe_names_each_judge_once(command: Command, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"judges: [{{name: '{LONG}', model: planted/probit}}, planted/coin]\n")
    lines = command("plan", "s.yaml", "--by-probe").out.splitlines()
    assert lines.count(LONG) == 1
    at = lines.index(LONG)
    assert [line.split()[:2] for line in lines[at + 1 : at + 4]] == [
        ["vacuum", "12"],
        ["ladder", "60"],
        ["criterion", "72"],
    ]


@pytest.mark.parametrize("width", ["30", "80"])
def test_a_long_name_in_a_plan_has_a_line_of_its_own(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    (tmp_path / "s.yaml").write_text(f"judges: [{{name: '{LONG}', model: planted/probit}}]\n")
    lines = command("plan", "s.yaml").out.splitlines()
    assert lines[lines.index(LONG) + 1].split()[0] == "144"
