"""Recorded verdicts in tables with columns of their own."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from rich.console import Console

from commands import Command
from steelyard.commands.import_verdicts import import_verdicts
from steelyard.datasheet.render.terminal import render_brief
from steelyard.errors import ConfigError, DataError
from steelyard.importing.mapped_columns import MappedTable
from steelyard.importing.recorded_columns import parse_recorded_columns

SCORES = [
    # id, verdict, human, topic: 6 of 8 agree, one positive missed, one negative passed
    ("a", "pass", 1, "billing"),
    ("b", "PASS", 1, "billing"),
    ("c", "fail", 0, "login"),
    ("d", "Fail", 0, "login"),
    ("e", "yes", 1, "login"),
    ("f", "no", 0, "billing"),
    ("g", "no", 1, "billing"),
    ("h", "yes", 0, "login"),
]
COLUMNS = "item=id,score=verdict,expected=human,stratum=topic"


def write(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write(tmp_path / "mine.csv", ("id", "verdict", "human", "topic"), SCORES)


def figures(rows: list[dict], metric: str) -> dict[str, tuple[object, object]]:
    return {row["judge"]: (row["numerator"], row["denominator"]) for row in rows if row["metric"] == metric}


def test_a_table_of_scores_becomes_a_datasheet(command: Command, scores: Path) -> None:
    done = command("import", scores, "--columns", COLUMNS, "--judge", "gpt", "--out", "sheet", "--json")
    assert done.code == 0, done.err
    rows = [row for row in done.rows if "stratum" not in row["group"]]
    assert figures(rows, "accuracy") == {"gpt": (6, 8)}
    assert figures(rows, "false_positive_rate") == {"gpt": (1, 4)}
    assert figures(rows, "false_negative_rate") == {"gpt": (1, 4)}
    kappa = next(row["value"] for row in rows if row["metric"] == "kappa")
    assert kappa == pytest.approx(0.5)  # (.75 − .5) / (1 − .5)
    again = command("report", "sheet", "--format", "json")
    assert again.rows == done.rows


def test_the_same_table_as_a_spreadsheet_gives_the_same_calls(scores: Path, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("id", "verdict", "human", "topic"), *SCORES):
        book.active.append(row)
    book.save(tmp_path / "mine.xlsx")
    mapped = MappedTable(parse_recorded_columns(COLUMNS), "gpt")
    one, other = (import_verdicts([path], "x", 7, mapped) for path in (scores, tmp_path / "mine.xlsx"))
    assert list(one.calls.lines()) == list(other.calls.lines())


def test_a_column_names_the_judge_and_repeats_are_numbered(tmp_path: Path) -> None:
    rows = [(item, judge, score) for item in "ab" for judge in ("x", "y") for score in (3, 4)]
    path = write(tmp_path / "t.csv", ("id", "who", "score"), rows)
    mapped = MappedTable(parse_recorded_columns("item=id,judge=who,score=score"), scale="1-5")
    lines = [
        json.loads(line)
        for line in "".join(import_verdicts([path], "t", 7, mapped).calls.lines()).splitlines()
    ]
    assert sorted((line["judge"], line["item"], line["replicate"], line["score"]) for line in lines) == [
        (judge, item, replicate, 3 + replicate) for judge in "xy" for item in "ab" for replicate in (0, 1)
    ]
    assert {line["scale"] for line in lines} == {"1-5"}


def test_an_empty_score_is_no_score_and_rows_without_a_name_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "judge-a.csv", ("s", "gold"), [(1, 1), ("", 0), (0, "")])
    imported = import_verdicts([path], None, 7, MappedTable(parse_recorded_columns("score=s,expected=gold")))
    sheet = imported.datasheet
    assert [judge.name for judge in sheet.judges] == ["judge-a"]
    accuracy = next(e for e in sheet.estimates if e.metric == "accuracy" and e.value is not None)
    assert (accuracy.numerator, accuracy.denominator) == (1, 1)
    assert sheet.find("judge-a", "unreadable_rate", "run").numerator == 1


def test_a_table_of_pairs_in_both_orders(command: Command, tmp_path: Path) -> None:
    # Always the first slot: each of four pairs flips with the order.
    rows = [(pair, first, "A", 1 + pair % 2) for pair in range(4) for first in (1, 2)]
    path = write(tmp_path / "pairs.csv", ("pair", "shown_first", "winner", "people"), rows)
    done = command(
        *("import", path, "--columns", "pair=pair,first=shown_first,answer=winner,better=people"),
        *("--out", "sheet", "--json"),
    )
    assert done.code == 0, done.err
    rows_of = [row for row in done.rows if row["group"].get("protocol") == "base"]
    flips = next(row for row in rows_of if row["metric"] == "flip_first" and len(row["group"]) == 1)
    assert (flips["numerator"], flips["denominator"]) == (4, 4)
    accuracy = next(row for row in rows_of if row["metric"] == "accuracy" and len(row["group"]) == 1)
    assert (accuracy["numerator"], accuracy["denominator"]) == (4, 8)


def test_pairs_in_one_order_ask_for_the_other(tmp_path: Path) -> None:
    columns = parse_recorded_columns("pair=pair,first=shown_first,answer=winner,better=people")
    for orders, wanted in (
        ((1,), "the same pairs in the other order"),
        ((1, 2), "pairs drawn at random and labelled, which would decide “tells good from bad”"),
    ):
        better = {pair: 1 + pair % 2 for pair in range(6)}
        rows = [(p, first, "A" if better[p] == first else "B", better[p]) for p in better for first in orders]
        path = write(tmp_path / "pairs.csv", ("pair", "shown_first", "winner", "people"), rows)
        (verdict,) = import_verdicts([path], None, 7, MappedTable(columns)).datasheet.verdicts
        assert verdict.next is not None
        assert wanted in verdict.next.purpose


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("score=v,answer=w", "columns: found score of scores and answer of pairs"),
        ("score", "columns: found 'score', expected PART=COLUMN"),
        ("score=a,score=b", "columns: 'score' is mapped twice"),
        ("scores=a", "scores"),
    ],
)
def test_a_map_that_says_too_little_or_too_much(columns: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_recorded_columns(columns)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("3.5", "column 's' holds '3.5', expected a whole number"),
        ("superb", "column 's' holds 'superb', expected a number"),
        ("-1", "column 's' holds '-1', expected a whole number"),
        ("²", "column 's' holds '²', expected a number"),
    ],
)
def test_a_cell_that_is_no_score_is_told_with_its_row(tmp_path: Path, cell: str, sentence: str) -> None:
    path = write(tmp_path / "t.csv", ("s",), [(1,), (cell,)])
    with pytest.raises(DataError) as error:
        import_verdicts([path], None, 7, MappedTable(parse_recorded_columns("score=s")))
    assert sentence in str(error.value)
    assert "row 2" in str(error.value) or "line 3" in str(error.value)


def test_other_faults_end_with_one_sentence_and_leave_nothing(
    command: Command, scores: Path, tmp_path: Path
) -> None:
    empty = write(tmp_path / "empty.csv", ("id", "verdict"), [])
    slots = write(tmp_path / "slots.csv", ("p", "a", "f"), [("x", "1", "tie")])
    for arguments, sentence in (
        ((slots,), "no column is the judge's verdict for certain; found: 'p', 'a', 'f'; name it, as in"),
        ((slots, "--columns", "pair=p"), "no column is the judge's verdict for certain"),
        (
            (scores, "--columns", "item=id,score=verdit"),
            "no column 'verdit' for score; did you mean",
        ),
        ((scores, "--columns", COLUMNS, "--scale", "huge"), "huge"),
        ((empty, "--columns", "item=id,score=verdict"), "only a header found"),
        ((tmp_path / "absent.csv", "--columns", "score=s"), "absent.csv"),
        ((slots, "--columns", "pair=p,answer=a,first=f"), "column 'f' holds 'tie', expected 1 or 2"),
    ):
        done = command("import", *arguments, "--out", "sheet")
        assert (done.code, done.out) == (2, ""), (arguments, done.err)
        assert sentence in done.err
        assert "Traceback" not in done.err
        assert not (tmp_path / "sheet").exists()


def test_a_judge_of_whom_nothing_can_be_read_is_not_called_usable(command: Command, tmp_path: Path) -> None:
    for rows, word in ((2, "too_little_data"), (60, "unfit")):
        path = write(tmp_path / f"mute{rows}.csv", ("s", "gold"), [("", n % 2) for n in range(rows)])
        columns = "score=s,expected=gold"
        done = command("import", path, "--columns", columns, "--out", f"mute{rows}", "--json")
        assert done.code == 1
        (verdict,) = json.loads(done.out)["verdicts"]
        assert verdict["verdict"] == word


@pytest.mark.parametrize(
    ("rows", "advice", "step"),
    [
        (
            [(f"i{n}", n % 2, "") for n in range(12)],
            "These data cannot show whether it can judge.",
            "label about 100 rows, which show an accuracy of 0.8 to within ±0.08, and import all of them",
        ),
        (
            [(f"i{n}", n % 2, 1) for n in range(12)],
            "These data cannot show whether it can judge.",
            "add rows of the label that is missing, about 50, and import all of them",
        ),
        (
            [(f"i{n}", "" if n % 5 < 3 else n // 5 % 2, n // 5 % 2) for n in range(60)],
            "Do not use it yet: most of its calls brought no verdict. Fix that, and measure again.",
            "after the change, record its verdicts again and import them",
        ),
        (
            [(f"i{n}", n % 2, n % 2) for n in range(100)],
            "Nothing has to be changed.",
            "decide by a policy, `default` or a file of your own, whether it may be used",
        ),
    ],
    ids=["no label", "one label", "mostly unreadable", "nothing open"],
)
def test_recorded_scores_are_followed_by_a_step_that_helps(
    tmp_path: Path, rows: list[tuple[object, ...]], advice: str, step: str
) -> None:
    path = write(tmp_path / "rows.csv", ("id", "verdict", "human"), rows)
    table = MappedTable(parse_recorded_columns("item=id,score=verdict,expected=human"))
    (verdict,) = import_verdicts([path], None, 7, table).datasheet.verdicts
    assert verdict.next is not None
    assert (verdict.advice.value, verdict.next.purpose) == (advice, step)


def test_pairs_that_people_all_call_ties_ask_for_others_and_lost_calls_for_themselves(tmp_path: Path) -> None:
    columns = parse_recorded_columns("pair=pair,first=shown_first,answer=winner,better=people")
    ties = [(p, first, "A", "tie") for p in range(6) for first in (1, 2)]
    path = write(tmp_path / "pairs.csv", ("pair", "shown_first", "winner", "people"), ties)
    (verdict,) = import_verdicts([path], None, 7, MappedTable(columns)).datasheet.verdicts
    assert verdict.next is not None
    assert verdict.next.purpose == "after the change, record its verdicts again and import them"
    call = {"judge": "J", "probe": "position", "kind": "natural", "first": "u", "better": "u"}
    lost = [{**call, "pair": f"p{n}", "answer": "1" if n < 2 else "failed"} for n in range(8)]
    path = tmp_path / "lost.jsonl"
    path.write_text("\n".join(map(json.dumps, lost)) + "\n", encoding="utf-8")
    (verdict,) = import_verdicts([path]).datasheet.verdicts
    assert verdict.next is not None
    assert verdict.next.purpose == "record the failed calls again, and import all calls anew"


def test_the_first_screen_has_no_flag_that_the_verdict_does_not_rest_on(
    command: Command, tmp_path: Path
) -> None:
    """Repeats on a scale are judged by their spread, and skewed labels leave nothing to gain."""
    scores = [
        (f"i{n}", k, 1 + n % 6, min(6, max(1, 1 + n % 6 + (n + k) % 3 - 1)))
        for n in range(60)
        for k in (0, 1)
    ]
    path = write(tmp_path / "scale.csv", ("id", "k", "human", "verdict"), scores)
    columns = "item=id,score=verdict,expected=human,replicate=k"
    done = command("import", path, "--columns", columns, "--scale", "1-6", "--out", "scale")
    assert ": no fault found" in done.out
    assert "too low" not in done.out
    assert "per verdict" not in done.out
    assert "scores follow the text" in done.out
    skewed = [(f"i{n}", 1 if n % 20 else 0, (1 if n % 20 else 0) ^ (n % 11 == 1)) for n in range(220)]
    path = write(tmp_path / "skewed.csv", ("id", "human", "verdict"), skewed)
    done = command("import", path, "--columns", "item=id,score=verdict,expected=human", "--out", "skewed")
    assert ": no fault found" in done.out
    assert "too low" not in done.out


def compared_by_length(path: Path, judges: int, by_length: float, noise: float, name: str) -> Path:
    """Pairs in both orders, each judge with pairs of its own; people go by quality, judges by length too."""
    chance = np.random.default_rng([judges, int(10 * by_length)])
    rows = []
    for judge in range(judges):
        quality, length, people = chance.normal(size=(3, 120))
        better = np.where(quality + 0.5 * people > 0, 1, 2)
        for pair in range(120):
            words = 300 + int(40 * length[pair]), 300
            for first in (1, 2):
                pull = (0.5 if by_length else 1.5) * quality[pair] + by_length * length[pair]
                chosen = 1 if pull + noise * chance.normal() > 0 else 2
                slot = 1 if chosen == first else 2
                rows.append((f"{name}{judge}", f"{judge}-{pair}", first, slot, better[pair], *words))
    header = ("judge", "pair", "first", "answer", "better", "a_words", "b_words")
    return write(path, header, rows)


PAIR_COLUMNS = "judge=judge,pair=pair,first=first,answer=answer,better=better"
PAIR_LENGTHS = f"{PAIR_COLUMNS},words_1=a_words,words_2=b_words"


def causes_named(path: Path, columns: str) -> list[set[str]]:
    found = import_verdicts([path], "t", 7, MappedTable(parse_recorded_columns(columns)))
    return [{cause.title for cause in verdict.causes} for verdict in found.datasheet.verdicts]


@pytest.mark.slow
def test_a_judge_that_goes_by_length_is_named_from_recorded_pairs(tmp_path: Path) -> None:
    by_length = compared_by_length(tmp_path / "length.csv", 12, 1.2, 0.3, "length")
    assert sum("Length" in causes for causes in causes_named(by_length, PAIR_LENGTHS)) >= 11
    assert not any("Length" in causes for causes in causes_named(by_length, PAIR_COLUMNS))


@pytest.mark.slow
def test_a_judge_that_goes_by_quality_is_not(tmp_path: Path) -> None:
    good = compared_by_length(tmp_path / "good.csv", 24, 0.0, 0.5, "good")
    assert sum("Length" in causes for causes in causes_named(good, PAIR_LENGTHS)) <= 1


def test_texts_of_pairs_count_as_their_words(tmp_path: Path) -> None:
    header = ("pair", "answer", "one", "two", "long", "short")
    rows = [(f"p{n}", 1 + n % 2, "a b c " * (1 + n), "a b", 3 * (1 + n), 2) for n in range(4)]
    path = write(tmp_path / "t.csv", header, rows)
    one, other = (
        "".join(import_verdicts([path], "t", 7, MappedTable(parse_recorded_columns(text))).calls.lines())
        for text in (
            "pair=pair,answer=answer,text_1=one,text_2=two",
            "pair=pair,answer=answer,words_1=long,words_2=short",
        )
    )
    assert one == other
    assert [json.loads(line)["words_u"] for line in one.splitlines()] == [3, 6, 9, 12]


def test_a_table_that_names_texts_u_and_v_is_read_like_lines_that_do(tmp_path: Path) -> None:
    header = ("pair", "first", "answer", "better", "words_u", "words_v", "text_u", "text_v")
    rows = [(f"p{n}", "uv"[n % 2], 1, "vu"[n % 2], 3, 1, "a b c", "a") for n in range(4)]
    path = write(tmp_path / "t.csv", header, rows)
    lines = tmp_path / "t.jsonl"
    facts = {"judge": "t", "probe": "position", "kind": "natural", "answer": "1", "protocol": "base"}
    lines.write_text(
        "".join(
            json.dumps({**facts, **dict(zip(header[:2] + header[3:4], (p, f, b), strict=True)), **given})
            + "\n"
            for (p, f, _, b, *_), given in zip(
                rows, ({"text_u": "a b c", "text_v": "a"}, {"words_u": 3, "words_v": 1}) * 2, strict=True
            )
        )
    )
    told = ["".join(import_verdicts([lines]).calls.lines())]
    for part in ("words", "text"):
        columns = f"pair=pair,first=first,answer=answer,better=better,{part}_u={part}_u,{part}_v={part}_v"
        mapped = MappedTable(parse_recorded_columns(columns))
        told.append("".join(import_verdicts([path], "t", 7, mapped).calls.lines()))
    assert told[0] == told[1] == told[2]
    assert [json.loads(line)["words_u"] for line in told[0].splitlines()] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": "x y", "words": 2}, "line 1: found words and text, expected one of them; remove one"),
        ({"text": 7}, "line 1: text is 7, expected a text; correct it"),
    ],
)
def test_lines_of_scores_carry_texts(line: dict[str, object], message: str, tmp_path: Path) -> None:
    call = {"judge": "j", "probe": "p", "item": "a", "variant": "original", "score": 1}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({**call, "text": "x y z"}) + "\n")
    (told,) = import_verdicts([path]).calls.lines()
    assert json.loads(told)["words"] == 3
    path.write_text(json.dumps({**call, **line}) + "\n")
    with pytest.raises(DataError, match=message):
        import_verdicts([path])


def test_texts_of_scores_count_as_their_words(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ("id", "score", "answer", "n"), [("a", 1, "x y z", 3), ("b", 0, "x", 1)])
    one, other = (
        "".join(import_verdicts([path], "t", 7, MappedTable(parse_recorded_columns(text))).calls.lines())
        for text in ("item=id,score=score,text=answer", "item=id,score=score,words=n")
    )
    assert one == other
    assert [json.loads(line)["words"] for line in one.splitlines()] == [3, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "pair=p,answer=a,words_1=n",
            "length of text 1 alone is mapped, expected both; add words_2 or text_2",
        ),
        (
            "pair=p,answer=a,text_2=n",
            "length of text 2 alone is mapped, expected both; add words_1 or text_1",
        ),
        ("item=i,score=s,words=n,text=t", "found words and text, expected one of them; remove one"),
        ("item=i,score=s,words_1=n", "found item of scores and words_1 of pairs"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(columns: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_recorded_columns(columns)


def test_a_length_that_is_a_text_says_how_to_map_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ("id", "score", "answer"), [("a", 1, "x y z")])
    with pytest.raises(DataError, match=r"column 'answer' holds 'x y z', expected .* \(map texts as text\)"):
        import_verdicts(
            [path], "t", 7, MappedTable(parse_recorded_columns("item=id,score=score,words=answer"))
        )


def test_lines_of_pairs_carry_lengths(tmp_path: Path) -> None:
    line = {"judge": "j", "probe": "position", "pair": "p", "kind": "natural", "first": "u", "answer": "1"}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({**line, "words_u": 4, "words_v": 9}) + "\n")
    imported = import_verdicts([path])
    assert imported.observations.shown.longer_by_name == {"p": 2}
    assert "".join(imported.calls.lines()).count("words_v") == 1
    path.write_text(json.dumps({**line, "words_u": 4}) + "\n")
    with pytest.raises(
        DataError, match="found words_u 4 and words_v None, expected the length of both texts"
    ):
        import_verdicts([path])


def test_texts_of_published_lines_are_counted(tmp_path: Path) -> None:
    pair = {"item_id": "p", "gold": "1", "response_1": "one two three", "response_2": "one"}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({**pair, "judge": "j", "winner_AB": "1", "winner_BA": "1"}) + "\n")
    assert import_verdicts([path]).observations.shown.longer_by_name == {"p": 1}
    path.write_text(json.dumps({**pair, "verdict_j": "1"}) + "\n")
    assert import_verdicts([path]).observations.shown.longer_by_name == {"p": 1}


def natural_pairs(judge: str, preferred: str, longer: str) -> list[dict[str, object]]:
    """Both orders of each pair; the judge names the longer text, or the one that people prefer."""
    return [
        {"judge": judge, "probe": "position", "kind": "natural", "pair": f"p{n}", "better": better}
        | {"first": first, "answer": "1" if first == named else "2"}
        | {"words_u": 90 if long == "u" else 40, "words_v": 90 if long == "v" else 40}
        for n, (better, long) in enumerate(zip(preferred, longer, strict=True))
        for named in (long if judge == "longest" else better,)
        for first in "uv"
    ]


def first_screen(lines: list[dict[str, object]], path: Path) -> list[str]:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    console = Console(width=100, file=StringIO(), force_terminal=False)
    render_brief(import_verdicts([path]).datasheet, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("rarer", [16, 24])
def test_a_count_of_words_is_unfit_from_recorded_pairs_of_known_length(rarer: int, tmp_path: Path) -> None:
    """People prefer the longer text in nine of ten pairs or more; whatever the length it is right in half."""
    preferred = "u" * 240
    longer = "v" * rarer + "u" * (240 - rarer)
    counted = first_screen(natural_pairs("longest", preferred, longer), tmp_path / "a.jsonl")
    assert "longest: unfit" in counted
    (row,) = (line for line in counted if "tells good from bad whatever the length" in line)
    assert row.split()[7] == "0.50"
    assert row.rstrip().endswith("too low")
    read = first_screen(natural_pairs("reads", preferred, longer), tmp_path / "b.jsonl")
    assert "reads: no fault found" in read


def test_where_people_prefer_the_longer_text_of_every_pair_the_first_screen_says_so(tmp_path: Path) -> None:
    screen = first_screen(natural_pairs("longest", "uv" * 60, "uv" * 60), tmp_path / "a.jsonl")
    assert "longest: too little data" in screen
    told = " ".join(line.strip() for line in screen)
    assert (
        "Whether it tells good from bad was not measured: people prefer the longer text in every pair whose "
        "texts differ in length." in told
    )


def test_the_best_rule_that_reads_nothing_counts_words_of_recorded_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = natural_pairs("longest", "u" * 100, "v" * 20 + "u" * 80)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sheet = import_verdicts([path]).datasheet
    (gain,) = (each for each in sheet.estimates if each.metric == "accuracy_gain")
    assert (gain.value, gain.details["rival"]) == (0.0, "the baseline longest")


@pytest.mark.slow
def test_a_text_of_more_words_than_are_counted_is_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ("id", "answer", "verdict"), [("a", "x " * 1_000_001, 1), ("b", "x", 0)])
    mapped = MappedTable(parse_recorded_columns("item=id,score=verdict,text=answer"))
    lines = "".join(import_verdicts([path], "t", 7, mapped).calls.lines()).splitlines()
    assert [json.loads(line)["words"] for line in lines] == [999_999, 1]
