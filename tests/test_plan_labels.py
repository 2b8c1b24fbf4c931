"""`labels plan`: its last line is the right thing to do, and works as printed."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command, Done
from planted_frames import PlantedWorld
from steelyard.estimation import label_plan as plans
from steelyard.estimation.label_plan import LevelSpreads

EXAMPLES = Path(__file__).parents[1] / "examples"
READ = ("--judge", "j", "--columns", "item=id")
LABELLED = ("r.csv", *READ, "--people", "h")


def write(path: Path, f: Sequence[float], people: Sequence[object]) -> None:
    """Answers with the judge's score and people's label; empty where nobody labelled."""
    rows = [f"q{n},because {n},{f[n]:g},{people[n]}\n" for n in range(len(f))]
    path.write_text("id,answer,j,h\n" + "".join(rows))


def yes_no(items: int) -> tuple[list[int], list[int]]:
    y, f, _ = PlantedWorld.yes_no(0.25, hit=0.8, alarm=0.2, items=items).draw(np.random.default_rng(5))
    return [int(each) for each in y], [int(each) for each in f]


def levels_1_to_5(items: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(6)
    y = rng.integers(1, 6, items)
    return y.tolist(), np.clip(y + rng.integers(-1, 2, items), 1, 5).tolist()


def first(y: Sequence[int], labels: int) -> list[object]:
    return [each if n < labels else "" for n, each in enumerate(y)]


def plan(command: Command, *arguments: object) -> tuple[str, list[str], str]:
    """The last sentence, the words of the command after it, and all that is printed, in one line."""
    done = command("labels", "plan", *arguments)
    assert (done.code, done.err) == (0, ""), done.err
    *_, told, line = done.out.splitlines()
    assert line.startswith("steelyard "), done.out
    return told, shlex.split(line)[1:], " ".join(done.out.split())


def run(command: Command, words: Sequence[str]) -> Done:
    done = command(*words)
    assert done.code == 0, (words, done.err)
    return done


def value(words: Sequence[str], option: str) -> str:
    return words[words.index(option) + 1]


def label(command: Command, folder: Path, truth: Callable[[str], object]) -> None:
    """Fill the sheet of a draw and bring it back."""
    items = {unit["key"]: unit["item"] for unit in json.loads((folder / "draw.json").read_text())["units"]}
    with (folder / "sheet.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": truth(items[row["key"]])} for row in rows)
    run(command, ("labels", "add", folder.name, f"{folder.name}/sheet.csv"))


def half_width(command: Command, words: Sequence[str]) -> tuple[float, dict[str, Any]]:
    found = json.loads(run(command, (*words, "--json")).out)
    return (found["corrected"]["high"] - found["corrected"]["low"]) / 2, found


@pytest.mark.parametrize("wanted", [0.02, 0.03])
def test_labels_that_are_there_already_are_not_bought_again(
    command: Command, tmp_path: Path, wanted: float
) -> None:
    shutil.copy(EXAMPLES / "verdicts.csv", tmp_path)
    given = ("verdicts.csv", "--judge", "careful", "--people", "human", "--columns", "item=id")
    told, words, page = plan(command, *given, "--half-width", wanted)
    assert told == f"Next: 600 labels suffice for ±{wanted:g}, if they were drawn at random:"
    assert words == ["estimate", *given, "--design", "random"]
    width, found = half_width(command, words)
    assert (found["labels"], found["items"]) == (600, 900)
    assert width == pytest.approx(0.0153, abs=5e-5)
    assert "600 labels of 900 items are there already and give ±0.0153, if they were drawn at random." in page
    body = json.loads(command("labels", "plan", *given, "--json").out)
    assert (body["items"], body["drawable"], body["labelled"]["half_width"]) == (900, 300, width)


def test_a_file_that_cannot_be_drawn_from_gets_the_reason_and_no_command(
    command: Command, tmp_path: Path
) -> None:
    shutil.copy(EXAMPLES / "verdicts.csv", tmp_path)
    given = ("verdicts.csv", "--judge", "careful", "--people", "human", "--columns", "item=id")
    done = command("labels", "plan", *given, "--half-width", 0.01)
    (number,) = re.findall(
        r"^Next: draw the fewest labels, with -n (\d+) --design by-verdict", done.out, re.M
    )
    refused = command("labels", "draw", *given, "-n", number, "--out", "d").err.removeprefix("steelyard: ")
    assert "no texts to show" in refused
    assert done.out.endswith(f"`labels draw` still refuses: {refused}")


def test_further_labels_are_of_the_items_that_can_be_drawn(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(120)
    write(tmp_path / "r.csv", f, first(y, 60))
    told, words, page = plan(command, *LABELLED)
    assert told == "Next: draw the fewest labels:"
    assert words[:7] == ["labels", "draw", "r.csv", "--judge", "j", "--people", "h"]
    assert "a figure of the 60 items that can still be drawn" in page
    body = json.loads(command("labels", "plan", *LABELLED, "--json").out)
    assert body["drawable"] == 60
    planned = {row["name"]: row["labels"] for row in body["designs"]}
    assert int(value(words, "-n")) == min(planned["random draw"], planned["by verdict"])
    alone, rest = planned["labels alone"], np.array(f[60:])
    shares = np.array([(rest == level).mean() for level in (0, 1)])
    said = [[y[n] for n in range(60) if f[n] == level] for level in (0, 1)]
    mean = sum(w * (sum(each) + 0.5) / (len(each) + 1) for w, each in zip(shares, said, strict=True))
    worst = 1.96**2 * mean * (1 - mean)
    assert alone == int(np.ceil(worst / (0.03**2 + worst / 60)))
    run(command, words)
    label(command, tmp_path / "labels", lambda item: y[int(item[1:])])
    opened = run(command, ("labels", "open", "labels")).out.splitlines()[-1]
    width, found = half_width(command, shlex.split(opened.partition("steelyard ")[2]))
    assert (found["items"], found["labels"]) == (60, int(value(words, "-n")))
    assert width < 0.045  # a score interval is wider than the normal one of the plan
    assert value(plan(command, *LABELLED)[1], "--out") == "labels-2"


def test_a_number_of_labels_that_nobody_can_draw_has_no_width(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(120)
    write(tmp_path / "r.csv", f, first(y, 60))
    done = command("labels", "plan", *LABELLED, "-n", 61)
    assert (done.code, done.out) == (2, "")
    assert "-n 61: more than the 60 items that can be drawn; lower it." in done.err
    assert command("labels", "plan", *LABELLED, "-n", 60).code == 0


@pytest.mark.parametrize("labels", [120, 119, 115])
def test_where_next_to_nothing_is_left_to_draw_the_labels_that_are_there_make_the_figure(
    command: Command, tmp_path: Path, labels: int
) -> None:
    y, f = yes_no(120)
    write(tmp_path / "r.csv", f, first(y, labels))
    told, words, page = plan(command, *LABELLED, "--half-width", 0.001)
    width, found = half_width(command, words)
    assert (words[0], found["labels"]) == ("estimate", labels)
    assert f"{labels} labels of 120 items are there already and give ±{width:.4f}" in page
    if labels == 120:
        assert told == "Next: 120 labels suffice for ±0.001:"
        assert width < 1e-9
    else:
        left = "1 item" if labels == 119 else "5 items"
        assert f"; {left} can be drawn, and a figure takes 10 labels:" in told
        assert 0.001 < width < 0.02


def test_too_few_items_for_any_figure(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(8)
    write(tmp_path / "r.csv", f, first(y, 0))
    done = command("labels", "plan", "r.csv", *READ)
    assert (
        done.out.splitlines()[-1] == "No draw is of use: 8 items can be drawn, and a figure takes 10 labels."
    )


def test_labels_by_verdict_are_not_taken_for_a_random_draw(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(400)
    write(tmp_path / "r.csv", f, [y[n] if f[n] == 0 or n % 5 == 0 else "" for n in range(400)])
    told, words, _ = plan(command, *LABELLED, "--half-width", 0.1)
    assert told.endswith("if they were drawn at random within each verdict of the judge:")
    assert words[-2:] == ["--design", "by-verdict"]
    assert half_width(command, words)[0] <= 0.1


def test_recorded_odds_are_taken_as_they_are(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(300)
    odds = [0.5 if each == 0 else 0.25 for each in f]
    rows = [f"{n},a {n},{f[n]},{y[n] if n % 8 < 8 * odds[n] else ''},{odds[n]}\n" for n in range(300)]
    (tmp_path / "r.csv").write_text("item,answer,j,h,p_drawn\n" + "".join(rows))
    told, words, _ = plan(command, "r.csv", "--judge", "j", "--people", "h", "--half-width", 0.1)
    assert re.fullmatch(r"Next: \d+ labels suffice for ±0.1:", told)
    assert "--design" not in words
    assert half_width(command, words)[1]["design"] == "by-verdict"


def test_scores_with_labels(command: Command, tmp_path: Path) -> None:
    y, f = levels_1_to_5(500)
    write(tmp_path / "r.csv", f, first(y, 100))
    _, words, _ = plan(command, *LABELLED, "--half-width", 0.1)
    assert words[:2] == ["labels", "draw"]
    assert f" of 500 drawn: {value(words, '-n')} for the test" in run(command, words).out
    told, words, _ = plan(command, *LABELLED, "--half-width", 0.25)
    assert told == "Next: 100 labels suffice for ±0.25, if they were drawn at random:"
    assert half_width(command, words)[0] <= 0.25


@pytest.mark.parametrize(
    ("worlds", "items", "wanted", "sizes"),
    [
        (yes_no, 600, 0.03, ("40", "40", "by-verdict", "pilot")),
        (yes_no, 600, 0.2, ("24", "", "random", "labels")),
        (yes_no, 70, 0.03, ("66", "", "random", "labels")),
        (levels_1_to_5, 600, 0.03, ("100", "100", "by-verdict", "pilot")),
        (levels_1_to_5, 150, 0.03, ("40", "40", "random", "pilot")),
    ],
)
def test_before_any_label_a_pilot_that_pays_or_the_draw_itself(
    command: Command,
    tmp_path: Path,
    worlds: Callable[[int], tuple[list[int], list[int]]],
    items: int,
    wanted: float,
    sizes: tuple[str, str, str, str],
) -> None:
    y, f = worlds(items)
    write(tmp_path / "r.csv", f, first(y, 0))
    told, words, page = plan(command, "r.csv", *READ, "--half-width", wanted)
    tune = value(words, "--tune") if "--tune" in words else ""
    assert (value(words, "-n"), tune, value(words, "--design"), value(words, "--out")) == sizes
    assert ("a pilot of" in told) == bool(tune)
    assert "for each verdict" not in page
    run(command, words)


def test_a_pilot_is_no_part_of_what_can_be_drawn(command: Command, tmp_path: Path) -> None:
    y, f = yes_no(300)
    write(tmp_path / "r.csv", f, first(y, 5))
    text = (tmp_path / "r.csv").read_text()
    (tmp_path / "r.csv").write_text(text.replace("j,h", "j,human", 1))
    given = ("r.csv", *READ)
    pilot = ("labels", "draw", *given, "-n", 40, "--tune", 40, "--out", "p")
    assert command(*pilot).code == 0
    told, words, _ = _with_pilot(command, given)
    assert (told, words) == ("Next: label the pilot, then plan again:", ["review", "p", "--label"])
    label(command, tmp_path / "p", lambda item: y[int(item[1:])])
    told, words, page = _with_pilot(command, given)
    assert "300 items, 40 labels as a pilot" in page
    assert "a figure of the 255 items that can still be drawn" in page
    assert value(words, "--pilot") == "p"
    assert f"{value(words, '-n')} for the test" in run(command, words).out
    _, words, _ = _with_pilot(command, given, "--half-width", 0.001)
    assert 250 <= int(value(words, "-n")) <= 255
    run(command, words)


def _with_pilot(command: Command, given: Sequence[object], *more: object) -> tuple[str, list[str], str]:
    """As `plan`; that labels of the file are left out is said on standard error."""
    done = command("labels", "plan", *given, "--pilot", "p", *more)
    assert done.code == 0, done.err
    *_, told, line = done.out.splitlines()
    return told, shlex.split(line)[1:], " ".join(done.out.split())


def test_a_draw_of_one_system_is_not_drawn_from_all(command: Command, tmp_path: Path) -> None:
    rows = [f"{n},{m},a {n} {m},{n % 2},{n % 3 % 2 if n < 30 else ''}\n" for n in range(150) for m in "xy"]
    (tmp_path / "r.csv").write_text("item,system,answer,j,h\n" + "".join(rows))
    given = ("r.csv", "--judge", "j", "--people", "h")
    done = command("labels", "plan", *given, "--system", "x")
    assert "keep the rows of this system, with --where" in done.out.splitlines()[-1]
    _, words, _ = plan(command, *given, "--where", "system=x")
    assert " of 150 drawn" in run(command, words).out
    _, words, _ = plan(command, *given, "--system", "x", "--half-width", 0.3)
    assert half_width(command, words)[1]["items"] == 150


@pytest.mark.parametrize(
    ("scale", "items", "levels", "sizes"),
    [("binary", 40, 5, ("39", "random", "labels")), ("1-5", 100, 9, ("40", "random", "pilot"))],
)
def test_a_run_with_repeats(
    command: Command, tmp_path: Path, scale: str, items: int, levels: int, sizes: tuple[str, str, str]
) -> None:
    """Verdicts are means of repeats there, of which there are many."""
    top = 2 if scale == "binary" else 5
    rows = [f"q{n},ans {n},{n % top + (scale != 'binary')},i{n}\n" for n in range(items)]
    (tmp_path / "data.csv").write_text("q,a,label,id\n" + "".join(rows))
    (tmp_path / "r.md").write_text("Is it right?\n")
    columns = "request=q,response=a,label=label,id=id"
    measured = ("measure", "--data", "data.csv", "--columns", columns, "--scale", scale, "--rubric", "r.md")
    run(command, (*measured, "-j", "planted/rater", "--replicates", "5", "--out", "b"))
    _, words, page = plan(command, "b", "-j", "planted/rater")
    assert "for each verdict" not in page
    assert (value(words, "-n"), value(words, "--design"), value(words, "--out")) == sizes
    assert json.loads(command("labels", "plan", "b", "-j", "planted/rater", "--json").out)["levels"] >= levels
    run(command, words)
    told, words, _ = plan(command, "b", "-j", "planted/rater", "--people", "label")
    assert told == f"Next: {items} labels suffice for ±0.03:"
    assert half_width(command, words)[0] < 1e-4


def test_levels_of_which_no_item_is_left_are_left_out() -> None:
    levels = LevelSpreads(
        np.array([10.0, 20.0]), np.array([0.0, 1.0]), np.array([0.2, 0.9]), np.array([0.4, 0.3])
    )
    rest = levels.with_sizes(np.array([0.0, 8.0]))
    assert (rest.sizes.tolist(), rest.scores.tolist(), rest.spreads.tolist()) == ([8], [1], [0.3])
    assert plans.random_draw(rest, 8) == 0
