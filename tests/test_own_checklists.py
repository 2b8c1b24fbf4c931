"""Checklists of one's own: the file that holds them, its errors, the depth of the ladder, the datasheet."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import Done, run_command
from own_judges import study_of
from servers import planted_server
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.study.judge_config import parse_judge
from steelyard.study.planner import make_plan
from steelyard.tasks.checklist import read_checklists
from steelyard.tasks.task import Pairwise

FAST = ("--attempts", 1, "--backoff", 0.01, "--concurrency", 4)
EXACT = "planted/probit?s=9&tau=4&lapse=0&sigma=0&beta=0"
DEPTH = 7
TOPICS = ("kettle", "bicycle", "garden", "passport", "tent", "violin")
THINGS = ("cover", "handle", "label", "corner", "lining", "hinge", "strap", "button")


def sentences(topic: str, side: str, number: int) -> list[str]:
    thing = THINGS[number]
    return [
        f"Please {side} the {thing} of the {topic} before noon.",
        f"Before noon, the {topic} needs its {thing} {side}ed, please.",
    ]


def body(depth: int = DEPTH, topics: tuple[str, ...] = TOPICS) -> dict[str, Any]:
    """Twins on each topic: one is to clean its parts, the other to paint them."""
    return {
        "checklists": [
            {
                "id": f"{side}-{topic}",
                "request": f"Write the {order} note on a {topic}.",
                "twin": f"{other}-{topic}",
                "elements": [
                    {"wordings": sentences(topic, side, number), "weak": f"A {topic} has a {THINGS[number]}."}
                    for number in range(depth)
                ],
            }
            for topic in topics
            for order, side, other in (("first", "clean", "paint"), ("second", "paint", "clean"))
        ]
    }


def with_filler() -> dict[str, Any]:
    """Filler of their own, without the commas that every element has."""
    made = body(3)
    for one in made["checklists"]:
        topic = one.pop("id").partition("-")[2]
        one["id"] = f"{one.pop('twin')}"
        for element in one["elements"]:
            element["wordings"] = [f"First, {wording}" for wording in element["wordings"]]
            element.pop("weak")
        one["filler"] = [
            [f"Some {topic} was seen near {place} again.", f"Near {place} people saw some {topic} again."]
            for place in ("Rome", "Oslo", "Bern")
        ]
    return made


def write(folder: Path, given: object, name: str = "own.yaml") -> None:
    (folder / name).write_text(yaml.safe_dump(given, sort_keys=False), encoding="utf-8")


def study(
    folder: Path, judge: str = EXACT, checklists: str = "own.yaml", probes: str = "[vacuum, ladder]"
) -> None:
    (folder / "study.yaml").write_text(
        f"judges: ['{judge}']\nchecklists: {checklists}\nprobes: {probes}\n", encoding="utf-8"
    )


Command = Callable[..., Done]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command in the folder of the test, which ends with the code."""
    return partial(run_command, tmp_path)


def sheet(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return found


def sensitivities(published: dict[str, Any], judge: str) -> dict[int, tuple[int, int]]:
    return {
        each["group"]["delta"]: (each["numerator"], each["denominator"])
        for each in published["estimates"]
        if each["metric"] == "target_sensitivity"
        and each["judge"] == judge
        and set(each["group"]) == {"protocol", "delta"}
    }


def stimuli(folder: Path, profile: str) -> StimulusSet:
    return make_plan(replace(study_of(folder / "study.yaml"), profile=profile)).stimuli


def test_the_ladder_is_as_deep_as_the_file_and_report_needs_no_file(command: Command, tmp_path: Path) -> None:
    write(tmp_path, body())
    study(tmp_path)
    held = stimuli(tmp_path, "standard")
    steps = Counter(int(each.delta or 0) for each in held if each.kind == "prefix")
    # One twin of each of six topics is shown, and ten pairs for each pair of levels are wanted.
    assert steps == {delta: len(TOPICS) * (DEPTH + 1 - delta) for delta in range(1, DEPTH + 1)}
    assert {each.base_level for each in held if each.kind == "same_subset"} == set(range(DEPTH + 1))
    assert {each.base_level for each in held if each.kind == "different_subset"} <= set(range(1, DEPTH))
    assert all(each.request.startswith("Write the ") for each in held)
    command("measure", "study.yaml", "--out", "run")
    published = sheet(tmp_path / "run")
    told = f"12 checklists of {DEPTH} elements from own.yaml"
    (tmp_path / "own.yaml").unlink()
    assert told in command("report", "run", "--full").out
    assert published["run"]["checklists"]["elements"] == DEPTH
    for file in ("datasheet.md", "datasheet.html"):
        assert told in (tmp_path / "run" / file).read_text(encoding="utf-8").replace("\\", "")


def test_advice_on_more_data_counts_the_pairs_of_the_file(command: Command, tmp_path: Path) -> None:
    """Six subjects of five elements have 444 calls of the ladder at full, the built-in ones 1,696."""
    write(tmp_path, body(5))
    study(tmp_path, judge="planted/probit?s=1&tau=0.5&lapse=0&sigma=0&beta=0")
    command("measure", "study.yaml", "--profile", "quick", "--out", "run")
    told = command("report", "run", "--full").out
    asked = re.findall(r"profile\s+(\w+)\s+\(([\d,]+)\s+calls\s+of\s+this", told)
    # No kind of pairs of the file has more than 120 calls, half steps at full.
    assert all(int(calls.replace(",", "")) <= 120 for _, calls in asked), asked
    assert re.search(r"add\s+checklists\s+on\s+about\s+\d+\s+subjects\s+more\s+to\s+the\s+file", told)


@pytest.mark.slow
def test_all_probes_of_the_catalogue_take_a_short_ladder(tmp_path: Path) -> None:
    write(tmp_path, body(3))
    study(tmp_path, probes="[vacuum, ladder, criterion, tradeoff]")
    held = stimuli(tmp_path, "full")
    assert {each.probe for each in held} == {"vacuum", "ladder", "tradeoff"}
    assert {each.delta for each in held} == {None, 0, 0.5, 1, 2, 3}
    without = body(3)
    for one in without["checklists"]:
        for element in one["elements"]:
            del element["weak"]
    write(tmp_path, without)
    assert {each.delta for each in stimuli(tmp_path, "full")} == {None, 0, 1, 2, 3}


def test_a_planted_judge_behind_http_is_measured_on_them(command: Command, tmp_path: Path) -> None:
    write(tmp_path, body())
    study(tmp_path, probes="[vacuum, ladder]")
    command("measure", "study.yaml", "--out", "here")
    key = StimulusSet.read(tmp_path / "here" / "stimuli.jsonl")
    judge = parse_judge(EXACT, tmp_path, Pairwise(), set())
    with planted_server(judge, key) as url:
        study(tmp_path, f"openai/m?base_url={url}&name=served", probes="[vacuum, ladder]")
        command("measure", "study.yaml", "--out", "there", *FAST)
    own, served = sheet(tmp_path / "here"), sheet(tmp_path / "there")
    expected = sensitivities(own, own["judges"][0]["name"])
    assert sensitivities(served, "served") == expected
    assert all(right == total > 0 for right, total in expected.values())


def test_an_edited_file_is_another_study(command: Command, tmp_path: Path) -> None:
    write(tmp_path, body())
    study(tmp_path, probes="[vacuum]")
    command("measure", "study.yaml", "--out", "run")
    assert "No calls" in command("measure", "study.yaml", "--out", "run").out
    changed = body()
    changed["checklists"][0]["elements"][0]["wordings"][0] = (
        "Another first sentence stands here in its place."
    )
    write(tmp_path, changed)
    done = command("measure", "study.yaml", "--out", "run", code=2)
    assert "checklists differ" in done.err


def test_the_option_names_a_file_from_here_and_a_study_file_one_beside_it(
    command: Command, tmp_path: Path
) -> None:
    write(tmp_path, body())
    named = ("-p", "vacuum", "--checklists", "own.yaml", "--out", "run")
    command("measure", "-j", EXACT, *named)
    held = StimulusSet.read(tmp_path / "run" / "stimuli.jsonl")
    assert all(stimulus.request.startswith("Write the ") for stimulus in held)
    below = tmp_path / "below"
    below.mkdir()
    (below / "study.yaml").write_text(f"judges: ['{EXACT}']\nchecklists: ../own.yaml\nprobes: [vacuum]\n")
    done = command("plan", "below/study.yaml", code=2)
    assert "own.yaml (checklists: ../own.yaml) outside its folder" in done.err
    assert command("plan", "below/study.yaml", "--yes", "files").code == 0


def test_plan_warns_where_counting_marks_names_the_better_text(command: Command, tmp_path: Path) -> None:
    write(tmp_path, with_filler())
    study(tmp_path, probes="[ladder]")
    done = command("plan", "study.yaml")
    assert "Counting marks and words names the better text in 100 of 100 pairs (chance: 50)" in done.err
    assert "a judge that does not read can pass for one that does" in done.err
    assert "own.yaml (checklists)" in done.out
    write(tmp_path, body(3))
    done = command("plan", "study.yaml")
    assert "Pairs of 12 checklists of 3 elements. Counting marks and words names" in done.out
    assert "quality does not show on the surface" in done.out
    assert "Counting" not in done.err


def drop(part: str) -> Callable[[list[Any]], object]:
    return lambda lists: lists[0].pop(part)


def change(part: str, value: object) -> Callable[[list[Any]], object]:
    return lambda lists: lists[0].update({part: value})


FAULTS: list[tuple[Callable[[list[Any]], object], str]] = [
    (drop("request"), "no key 'checklists.0.request' found, expected it; add it"),
    (change("requests", "x"), "unknown key 'checklists.0.requests' (did you mean 'request'?)"),
    (lambda lists: lists[0]["elements"][1].update(wordings=["Only one."]), "expected 2 or more entries"),
    (lambda lists: lists[0].update(elements=lists[0]["elements"][:2]), "expected 3 or more entries"),
    (
        lambda lists: lists[0]["elements"].pop(),
        "has 7 elements and 'clean-kettle' has 6, expected as many in each",
    ),
    (change("id", "paint-kettle"), "two checklists have the id 'paint-kettle', expected one each"),
    (lambda lists: lists[1].update(request=lists[0]["request"]), "two checklists have the request"),
    (drop("twin"), "checklist 'clean-kettle' has neither filler nor a twin, expected one of them"),
    (change("filler", [["A.", "B."]] * 7), "checklist 'clean-kettle' has filler and a twin, expected one"),
    (change("twin", "paint-tent"), "expected another checklist whose twin is 'clean-kettle'"),
    (change("twin", "nobody"), "names the twin 'nobody', expected another checklist"),
    (
        lambda lists: lists[0]["elements"][1]["wordings"].append(
            lists[0]["elements"][0]["wordings"][0].upper()
        ),
        "twice, expected each once; write another",
    ),
    (
        lambda lists: lists[0]["elements"][0]["wordings"].append(lists[1]["elements"][0]["wordings"][0]),
        "twice, expected each once; write another",
    ),
    (lambda lists: [one.update(key="k") for one in lists[0]["elements"]], "has the element 'k' twice"),
    (lambda lists: lists.__delitem__(slice(2, None)), "twins on one subject, expected 2 subjects or more"),
    (lambda lists: lists[0]["elements"][0].update(weak="Two\nlines."), "expected a sentence on one line"),
    (change("id", "../x"), "expected letters, digits, dots, dashes and underscores"),
]


@pytest.mark.parametrize(("fault", "sentence"), FAULTS)
def test_what_is_wrong_is_said_in_a_sentence(
    command: Command, tmp_path: Path, fault: Callable[[list[Any]], object], sentence: str
) -> None:
    given = deepcopy(body())
    fault(given["checklists"])
    write(tmp_path, given)
    study(tmp_path)
    done: Done = command("plan", "study.yaml", code=2)
    assert sentence in done.err
    assert done.err.startswith("steelyard: own.yaml: ")
    assert done.err.count("\n") == 1


def test_too_little_filler_a_scale_without_pairs_and_a_file_that_cannot_be_read(
    command: Command, tmp_path: Path
) -> None:
    short = with_filler()
    short["checklists"][0]["filler"].pop()
    write(tmp_path, short)
    study(tmp_path)
    assert "has 2 sentences of filler, expected 3 or more" in command("plan", "study.yaml", code=2).err
    (tmp_path / "own.yaml").write_text("checklists: [")
    assert "own.yaml: cannot be read (not valid YAML or JSON)" in command("plan", "study.yaml", code=2).err
    study(tmp_path, checklists="gone.yaml")
    assert "gone.yaml: cannot be read (No such file" in command("plan", "study.yaml", code=2).err
    write(tmp_path, body())
    study(tmp_path, "planted/rater", probes="[typos]")
    assert "is for pairs, found the scale" in command("plan", "study.yaml", code=2).err


def test_a_list_without_a_key_is_read_too(tmp_path: Path) -> None:
    write(tmp_path, body()["checklists"])
    found = read_checklists(tmp_path / "own.yaml")
    assert [one.depth for one in found] == [DEPTH] * 12
    assert {one.subject for one in found} == {f"clean-{topic}" for topic in TOPICS}
