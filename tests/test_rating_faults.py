"""Verdicts and labels in two files, votes of several people, and tables that would be read wrongly."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command
from steelyard.estimation.label_plan import sequence_limits_of
from steelyard.survey.estimate import STOPPED
from steelyard.survey.judged_items import JudgedItem

VERDICTS = ("verdicts.csv", "--judge", "judge_verdict", "--columns", "item=conversation_id")
RANDOM = ("--judge", "j", "--people", "h", "--design", "random")


def write_rows(folder: Path, header: str, rows: list[tuple[Any, ...]], name: str = "r.csv") -> None:
    text = "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)
    (folder / name).write_text(header + "\n" + text)


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    """200 verdicts; 60 labels by two annotators in a file with column names of its own."""
    rng = np.random.default_rng(4)
    truth = rng.random(200) < 0.7
    said = np.where(rng.random(200) < 0.9, truth, ~truth)
    write_rows(
        tmp_path,
        "conversation_id,judge_verdict",
        [(f"c{n}", int(said[n])) for n in range(200)],
        "verdicts.csv",
    )
    labels = [(f"c{n}", ("ann", "bob")[n % 2], "pass" if truth[n] else "fail") for n in range(60)]
    write_rows(tmp_path, "conversation_id,annotator,label", labels, "labels.csv")
    write_rows(tmp_path, "chat,who,mark", labels, "own.csv")
    write_rows(tmp_path, "item,value", [(item, label) for item, _, label in labels], "bare.csv")
    return tmp_path


def found(command: Command, *arguments: object) -> dict[str, Any]:
    done = command("estimate", *arguments, "--design", "random", "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_labels_have_a_map_of_columns_of_their_own(command: Command, two_files: Path) -> None:
    plain = found(command, *VERDICTS, "--labels", "labels.csv")
    own = found(
        command, *VERDICTS, "--labels", "own.csv", "--label-columns", "item=chat,value=mark,rater=who"
    )
    assert (plain["labels"], plain["people"]) == (60, ["ann", "bob"])
    names = ("corrected", "labels", "people", "judge_only")
    assert [own[name] for name in names] == [plain[name] for name in names]
    assert found(command, *VERDICTS, "--labels", "bare.csv")["people"] == ["people"]
    told = command("estimate", *VERDICTS, "--labels", "own.csv", "--design", "random")
    assert told.code == 2
    assert re.search(r"own\.csv: .* the id .*: 'chat', 'who', 'mark'; ", told.err)
    assert "--label-columns item=chat,value=mark." in told.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--labels", "own.csv", "--label-columns", "item=chat,value=grade"), "no column 'grade' for value"),
        (("--labels", "own.csv", "--label-columns", "colour=chat"), "--label-columns: unknown key 'colour'"),
        (("--label-columns", "item=chat"), "--label-columns: works only with --labels FILE"),
        (("--labels", ".", "--label-columns", "item=chat"), "--label-columns: works only with --labels FILE"),
    ],
)
def test_a_wrong_map_of_the_labels_is_refused(
    command: Command, two_files: Path, more: tuple[str, ...], told: str
) -> None:
    done = command("estimate", *VERDICTS, *more, "--design", "random")
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_the_paragraph_names_who_labelled(command: Command, two_files: Path) -> None:
    told = (*VERDICTS, "--design", "random", "--methods")
    assert "(ann, bob) labelled 60," in command("estimate", *told, "--labels", "labels.csv").out
    assert "people labelled 60," in command("estimate", *told, "--labels", "bare.csv").out


def test_comparisons_have_labels_in_a_second_file(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    sides = [(n, *(("p", "q") if n % 2 else ("q", "p")), "ab"[rng.integers(2)]) for n in range(120)]
    write_rows(tmp_path, "item,system_a,system_b,j", sides, "v.csv")
    write_rows(tmp_path, "id,first,second,best,who", [(*row, "ann") for row in sides[:60]], "l.csv")
    maps = ("--label-columns", "item=id,system_a=first,system_b=second,value=best,rater=who")
    words = ("leaderboard", "v.csv", "--judge", "j", "--labels", "l.csv", *maps, "--design", "random")
    done = command(*words, "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert (body["labels"], body["people"]) == (60, ["ann"])
    told = "how other people would vote is in no interval."
    assert told in " ".join(command(*words).out.split())
    alone = command("leaderboard", "v.csv", "--judge", "j")
    assert told not in " ".join(alone.out.split())


def test_verdicts_on_one_item_that_stand_there_twice_are_named(command: Command, tmp_path: Path) -> None:
    rows = [(n // 2, n % 2, n // 2 % 2 if n % 2 and n < 80 else None) for n in range(120)]
    write_rows(tmp_path, "item,j,h", rows)
    done = command("estimate", "r.csv", *RANDOM)
    assert done.code == 0, done.err
    told = "j rated 60 items several times, 60 of them differently: the mean of its verdicts counts."
    assert told in " ".join(done.out.split())
    assert told in found(command, "r.csv", *RANDOM[:4])["remarks"]


def test_missing_verdicts_are_those_of_the_systems_in_question(command: Command, tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (n, "p", "q", "ab"[n % 2], "ab"[n % 2] if n < 30 else None) for n in range(60)
    ]
    rows += [(n, "p", "s", None if n == 60 else "a", "b" if n < 90 else None) for n in range(60, 120)]
    write_rows(tmp_path, "item,system_a,system_b,j,h", rows)
    one = command("estimate", "r.csv", *RANDOM, "--system", "p", "--versus", "q")
    assert (one.code, one.err) == (0, "")
    assert "without a verdict" not in one.out
    other = command("estimate", "r.csv", *RANDOM, "--system", "p", "--versus", "s")
    assert "1 item without" in other.out
    board = command("leaderboard", "r.csv", *RANDOM)
    assert "1 row of the judge" in " ".join(board.out.split())
    short = command("leaderboard", "r.csv", *RANDOM, "--system", "p", "--system", "q")
    assert "without a verdict" not in short.out + short.err


def test_a_judge_without_a_verdict_on_some_items_is_said_among_people(
    command: Command, tmp_path: Path
) -> None:
    rows = [(n, "failed" if n < 3 else n % 2, n % 2, n % 2 if n % 7 else 1 - n % 2) for n in range(60)]
    write_rows(tmp_path, "item,j,ann,bob", rows)
    done = command("people", "r.csv", "-j", "j", "--people", "ann", "--people", "bob")
    assert re.search(r"\bj: no verdict .*\b3 of 60 items", " ".join(done.out.split()))


def test_a_system_compared_with_itself_is_left_out(command: Command, tmp_path: Path) -> None:
    real: list[tuple[Any, ...]] = [(n, "p", "q", "ab"[n % 3 == 0], "ab"[n % 4 == 0]) for n in range(60)]
    write_rows(
        tmp_path, "item,system_a,system_b,j,h", [*real, *((n, "p", "p", "a", "a") for n in range(60, 90))]
    )
    write_rows(tmp_path, "item,system_a,system_b,j,h", real, "real.csv")
    boards = [command("leaderboard", f"{name}.csv", *RANDOM, "--json") for name in ("r", "real")]
    assert re.search(r"\b30 comparisons .* itself", boards[0].err)
    assert boards[1].err == ""
    first, second = (json.loads(board.out) for board in boards)
    assert (first["rows"], first["corrected"]) == (second["rows"], second["corrected"])
    told = ("--system", "p", "--versus", "q")
    pair = [found(command, f"{name}.csv", *RANDOM[:4], *told) for name in ("r", "real")]
    assert pair[0]["corrected"] == pair[1]["corrected"]


def test_words_and_scores_are_no_one_scale(command: Command, tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (n, n % 2, ("pass" if n % 2 else "fail") if n < 40 else None) for n in range(90)
    ]
    rows[7] = (7, 1, 4)
    write_rows(tmp_path, "item,j,h", rows)
    done = command("estimate", "r.csv", *RANDOM)
    assert (done.code, done.out) == (2, "")
    assert re.search("rater 'h' gave 'fail' and 4, .*--values", done.err)
    assert found(command, "r.csv", *RANDOM[:4], "--values", "pass=5,fail=1")["quantity"] == "mean"
    rows[7] = (7, 1, 1)
    write_rows(tmp_path, "item,j,h", rows)
    assert found(command, "r.csv", *RANDOM[:4])["quantity"] == "share"


def test_each_criterion_may_have_its_own_scale(command: Command, tmp_path: Path) -> None:
    safe, style = (lambda n: ("fail", "pass")[n % 2]), (lambda n: 1 + n % 5)
    rows = [
        (n, rater, kind, criterion, value(n))
        for n in range(40)
        for rater, kind in (("j", "judge"), ("h", "human"))
        for criterion, value in (("safe", safe), ("style", style))
    ]
    write_rows(tmp_path, "item,rater,kind,criterion,value", rows)
    assert found(command, "r.csv", "--criterion", "safe")["quantity"] == "share"
    assert found(command, "r.csv", "--criterion", "style")["quantity"] == "mean"


def test_a_column_of_people_without_a_label_is_said(command: Command, tmp_path: Path) -> None:
    write_rows(tmp_path, "item,j,human", [(n, n % 2, None) for n in range(40)])
    done = command("estimate", "r.csv", "--judge", "j", "--people", "human", "--design", "random")
    assert (done.code, done.out) == (2, "")
    assert re.search(r"r\.csv: no label of 'human' .*--people\.", done.err)


def test_odds_that_some_items_lack_are_refused(command: Command, tmp_path: Path) -> None:
    rows = [(n, n % 2, n % 2 if n < 40 else None, 0.4 if n else None) for n in range(100)]
    write_rows(tmp_path, "item,j,h,p_drawn", rows)
    for design in ((), ("--design", "random"), ("--design", "odds")):
        done = command("estimate", "r.csv", *RANDOM[:4], *design)
        assert (done.code, done.out) == (2, "")
        assert re.search(r"p_drawn is empty .*\b1 of 100 items", done.err)


def test_a_name_that_begins_like_another_vendors_is_of_its_own(command: Command, tmp_path: Path) -> None:
    names = ("gpt4all-13b-snoozy", "gpt-3.5-turbo", "gpt4o", "vicuna-13b")
    rows = [(n, names[n % 4], names[(n + 1 + n // 4 % 3) % 4], "ab"[n % 3 == 0]) for n in range(240)]
    write_rows(tmp_path, "item,system_a,system_b,gpt-4-0125-preview", rows)
    done = command("leaderboard", "r.csv", "--judge", "gpt-4-0125-preview", "--json")
    assert done.code == 0, done.err
    assert sorted(json.loads(done.out)["own_family"]) == ["gpt-3.5-turbo", "gpt4o"]


def test_after_an_early_stop_the_first_sentence_has_the_limits_of_every_look(
    command: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(6)
    truth = rng.random(600) < 0.9
    said = np.where(rng.random(600) < 0.9, truth, ~truth)
    write_rows(tmp_path, "item,j", [(n, int(said[n])) for n in range(600)])
    file = ("r.csv", "--judge", "j")
    shown = ("--texts", "response=item")
    command("labels", "draw", *file, *shown, "-n", 400, "--design", "random", "--stop", "0.1", "--out", "d")
    units = {
        unit["key"]: unit["item"] for unit in json.loads((tmp_path / "d/draw.json").read_text())["units"]
    }
    lines = (tmp_path / "d" / "sheet.csv").read_text().splitlines()
    rows = [{**row, "label": str(int(truth[int(units[row["key"]])]))} for row in csv.DictReader(lines)][:300]
    with (tmp_path / "some.csv").open("w", newline="") as file_:
        writer = csv.DictWriter(file_, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert "suffice" in command("labels", "add", "d", "some.csv").out
    assert command("labels", "open", "d").code == 0
    done = command("estimate", *file, "--labels", "d")
    body = json.loads(command("estimate", *file, "--labels", "d", "--json").out)["corrected"]
    labelled = {units[row["key"]]: int(row["label"]) for row in rows}
    parts = []
    for level in (0, 1):
        here = [label for item, label in labelled.items() if said[int(item)] == level]
        parts.append((float((said == level).mean()), float(sum(here)), len(here)))
    assert (body["low"], body["high"]) == pytest.approx(sequence_limits_of(parts))
    assert body["low"] < body["value"] < body["high"]
    text = " ".join(done.out.split())
    spelled = (
        f"people would pass {100 * body['value']:.1f} % [{100 * body['low']:.1f}, {100 * body['high']:.1f}]"
    )
    assert spelled in text.partition(";")[0]
    assert STOPPED in text
    assert "labels alone" in text
    assert not re.search(r"labels alone [\d.]+ ", text)
    assert "often somebody looked" in command("estimate", *file, "--labels", "d", "--methods").out
    assert "every look" not in done.err


def test_majority_and_mean_of_votes_are_both_offered_and_named(command: Command, tmp_path: Path) -> None:
    """Three people on each of 40 items: 30 say 1, 1, 0 and 10 say 0, 0, 1."""
    people = {n: (1, 1, 0) if n < 30 else (0, 0, 1) for n in range(40)}
    write_rows(tmp_path, "item,j,ann,bob,cat", [(n, int(n < 30), *people.get(n, ())) for n in range(40)])
    told = ("r.csv", "--judge", "j", *(part for name in ("ann", "bob", "cat") for part in ("--people", name)))
    mean, most = found(command, *told), found(command, *told, "--votes", "majority")
    assert (mean["votes"], most["votes"]) == ("mean", "majority")
    assert mean["labels_only"]["value"] == pytest.approx((30 * 2 / 3 + 10 / 3) / 40)
    assert most["labels_only"]["value"] == pytest.approx(30 / 40)
    assert (mean["shared_items"], mean["unanimous_items"]) == (40, 0)
    texts = [" ".join(command("estimate", *told, "--design", "random", *more).out.split())
             for more in ((), ("--votes", "majority"))]  # fmt: skip
    assert re.search(r"is the mean of its votes \(--votes majority: ", texts[0])
    assert re.search(r"is what most people said \(--votes mean: ", texts[1])
    for text in texts:
        assert re.search(r"the same on 0 of 40 items", text)
        assert re.search(r"How other people .* not in the interval", text)


def test_votes_without_a_majority_are_shared() -> None:
    assert JudgedItem(votes=[1, 0]).label("majority") == 0.5
    assert JudgedItem(votes=[1, 2, 2, 5]).label("majority") == 2
    assert JudgedItem(votes=[1, 1, 5, 5, 3]).label("majority") == 3
    assert JudgedItem(votes=[1, 1, 5, 5, 3]).label("mean") == 3.0
    assert JudgedItem().label("majority") is None


def test_one_label_each_is_said_to_leave_out_how_people_differ(command: Command, two_files: Path) -> None:
    for labels in ("labels.csv", "bare.csv"):
        text = " ".join(command("estimate", *VERDICTS, "--labels", labels, "--design", "random").out.split())
        assert re.search(r"one label: how other people ", text)
        assert "--votes" not in text
    paragraph = command(
        "estimate", *VERDICTS, "--labels", "labels.csv", "--design", "random", "--methods"
    ).out
    assert "how other people" in " ".join(paragraph.split())
