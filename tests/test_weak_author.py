"""A weak author and a weak validator over real HTTP: nothing usable is written, so nothing is reported."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from authoring_server import ORDINAL_TASK, TASK, WRITTEN, AuthorRequest, Cast, essays, items, obey
from commands import Command, Done
from servers import Answer, ScriptedServer, fails, says

SHOWN = {
    "label_flip": "label flip",
    "semantic_paraphrase": "paraphrase",
    "verbosity_bias_long": "longer",
    "verbosity_bias_short": "shorter",
}
"""Written probes and their names in tables."""

KEEPING = WRITTEN[1:]

Weakness = Callable[[AuthorRequest], str | Answer]


def lame(asked: AuthorRequest) -> str:
    """About as long as is wanted, and the same for every item."""
    return "Well now. " * {"verbosity_bias_long": 14, "verbosity_bias_short": 4}.get(asked.goal, 7)


def chinese(asked: AuthorRequest) -> str:
    return "天空晴朗时看起来是蓝色的" * (2 if asked.goal == "verbosity_bias_long" else 1)


REJECTED: dict[str, tuple[Weakness, str]] = {
    "empty": (lambda _: says("<text></text>"), "empty"),
    "silent": (lambda _: says(""), "no text"),
    "refusing": (lambda _: says("I'm sorry, I can't help with that."), "author refused"),
    "parroting": (
        lambda _: says("Put the new response between the marks <text> and </text>, complete."),
        "no text",
    ),
    "copying": (lambda asked: asked.response, "copy"),
    "chatting": (lambda asked: f"Here is the rewritten response: {obey(asked)}", "talks about the task"),
    "broken": (lambda _: says('{"text": "The sky is'), "no text"),
    "foreign": (chinese, "other script"),
    "monotonous": (lame, "same text again"),
}
"""How an author may fail, and why its texts are turned down."""

WEAK: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no text": (("empty", "silent", "refusing", "parroting"), WRITTEN),
    "no new text": (("copying", "chatting", "broken", "copying"), WRITTEN),
    "foreign": (("foreign",) * 4, KEEPING),
    "monotonous": (("monotonous",) * 4, KEEPING),
}
"""How the author fails on each of the four items, and for which probes."""


@pytest.fixture
def cast() -> Cast:
    """A validator that gives every text the same score and finds every meaning kept."""
    return Cast(same=lambda first, second: True)


@pytest.fixture
def server(cast: Cast) -> Iterator[ScriptedServer]:
    with ScriptedServer(cast) as server:
        yield server


def write_study(folder: Path, server: ScriptedServer, probes: list[str], **keys: Any) -> None:
    rows = [{"id": i.id, "q": i.request, "a": i.responses[0], "label": i.label} for i in items(4)]
    (folder / "sky.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"id": "id", "request": "q", "response": "a", "label": "label"}
    body: dict[str, Any] = {
        "judges": [{"name": "grader", "model": f"openai/grader?base_url={server.url}"}],
        "task": {"instruction": TASK.instruction, "rubric": TASK.rubric, "scale": "binary"},
        "data": {"path": "sky.jsonl", "columns": columns},
        "probes": probes,
        "author": {"model": f"openai/writer?base_url={server.url}", "attempts": 2},
        "validator": {"model": f"openai/checker?base_url={server.url}"},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump({**body, **keys}))


def valued(sheet: dict[str, Any], probes: tuple[str, ...]) -> list[Any]:
    """Whatever has a value and belongs to one of the probes, of any judge or of all together."""
    rows = [*sheet["estimates"], *sheet["panel"]]
    named = [r for r in rows if r["probe"] in probes or set(probes) & set(map(str, r["group"].values()))]
    return [(r["judge"], r["probe"], r["metric"]) for r in named if r["value"] is not None]


def check_unmeasured(done: Done, folder: Path, probes: tuple[str, ...], reasons: Counter[str]) -> None:
    """No figure of these probes in any output."""
    assert done.code == 0, done.err
    sheet = json.loads((folder / "datasheet.json").read_text())
    assert valued(sheet, probes) == []
    told = " ".join(done.err.split())
    for probe in probes:
        why = re.search(f"probe {probe!r}: none of the 4 texts written for it can be used \\((.*?)\\)", told)
        assert why is not None, told
        assert sorted(why[1].split(", ")) == sorted(f"{reason} {count}" for reason, count in reasons.items())
        row = next(r for r in sheet["authored"] if r["probe"] == probe)
        assert (row["asked"], row["usable"], row["rejected"]) == (4, 0, reasons)
    tables = [line for line in (folder / "datasheet.md").read_text().splitlines() if line.startswith("| ")]
    for name in (SHOWN[probe] for probe in probes):
        cells = [c.strip() for line in tables if line.startswith(f"| {name} ") for c in line.split("|")[2:-1]]
        assert all(cell.startswith(("undefined", "not measured", "–")) for cell in cells), cells
    unmeasured = "|".join(SHOWN[probe] for probe in probes)
    for line in done.out.splitlines():
        if line.strip().startswith(tuple(unmeasured.split("|"))):
            assert not any(sign.isdigit() for sign in line), line


@pytest.mark.parametrize("weakness", sorted(WEAK))
def test_a_probe_without_a_usable_text_has_no_figure(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, weakness: str
) -> None:
    by_item, probes = WEAK[weakness]
    cast.write = lambda asked: REJECTED[by_item[int(re.findall(r"\d+", asked.request)[0])]][0](asked)
    write_study(tmp_path, server, [*probes, "stochastic_stability"])
    done = command("measure", "study.yaml", "--out", "run")
    check_unmeasured(done, tmp_path / "run", probes, Counter(REJECTED[name][1] for name in by_item))
    assert cast.calls == {"writer": 4 * len(probes) * 2, "grader": 4 * 5}
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    right = {
        (r["probe"], r["metric"]): r["value"]
        for r in sheet["estimates"]
        if r["judge"] == "grader" and r["metric"] in ("accuracy", "mean_accuracy", "volatility")
    }
    # what is said of all probes is said of the one that was measured
    assert right["stochastic_stability", "accuracy"] == 1.0
    assert {v for (_, metric), v in right.items() if metric == "mean_accuracy"} <= {1.0, None}
    assert {v for (_, metric), v in right.items() if metric == "volatility"} <= {None}


def test_in_a_suite_the_rest_is_measured(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.write = lambda _: fails(400, "maximum context length exceeded")
    write_study(tmp_path, server, ["reliability"])
    done = command("measure", "study.yaml", "--out", "run")
    check_unmeasured(done, tmp_path / "run", WRITTEN, Counter({"call failed": 4}))
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    layouts = {p for _, p, metric in valued(sheet, ("format_invariance_1", "format_invariance_2"))}
    assert layouts >= {"format_invariance_1", "format_invariance_2"}


def test_alone_nothing_is_judged(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.write = lambda asked: asked.response
    write_study(tmp_path, server, ["verbosity_bias_long"])
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 1
    assert "nothing to judge" in done.err
    assert cast.calls["grader"] == 0


def test_a_validator_without_a_readable_answer_confirms_nothing(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.grade = lambda text, low, high: says('{"score": ')
    write_study(tmp_path, server, ["label_flip", "semantic_paraphrase", "format_invariance_1"])
    done = command("generate", "study.yaml", "--out", "run")
    for probe in ("label_flip", "semantic_paraphrase"):
        assert f"{probe}: 4 asked, 0 usable, 4 rejected (no validator verdict 4)" in done.out


def test_levels_without_a_text_are_not_filled_evenly(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.write = lambda _: says("<text></text>")
    write_study(tmp_path, server, ["synthetic_ordinal", "stochastic_stability"])
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    body["task"] = {"instruction": ORDINAL_TASK.instruction, "rubric": ORDINAL_TASK.rubric, "scale": "1-5"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(body))
    rows = [{"id": i.id, "q": i.request, "a": i.responses[0], "label": i.label} for i in essays(4)]
    (tmp_path / "sky.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("measure", "study.yaml", "--full", "--out", "run")
    assert done.code == 0, done.err
    assert "none of the 5 levels has a text" in " ".join(done.out.split())
    assert "evenly" not in done.out + (tmp_path / "run" / "datasheet.html").read_text()
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert valued(sheet, ("synthetic_ordinal",)) == []
