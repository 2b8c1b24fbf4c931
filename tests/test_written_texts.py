"""Texts changed or written for an answer: they decide merit where unchanged rows can not, if accepted."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from authored_study import model, write_study
from authoring_server import Cast
from commands import Command
from conftest import Steelyard
from scores import call
from servers import ScriptedServer
from steelyard.commands.gate.policy import find_policy
from steelyard.commands.gate.ruling import apply_policy
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.render.clauses import sentence
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.tables import confusion_tables
from steelyard.probes.authored import LabelFlip, SyntheticOrdinal
from steelyard.stimuli.stimulus import Lineage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided

AUTHOR = "openai/writer"
BY_PERSON = Lineage("", "edit", AUTHOR, f"{AUTHOR} gave 1, as intended", "accepted")
BY_MODEL = Lineage("", "edit", AUTHOR, "openai/checker gave 1, as intended")
BY_AUTHOR = Lineage("", "edit", AUTHOR, f"{AUTHOR} gave 1, as intended")
RECORDED = Lineage("", "edit", "recorded")
Judge = Callable[[int, int], int]
"""Number of the item and expected answer to what is answered."""


def right(n: int, expected: int) -> int:
    del n
    return expected


def turned(n: int, expected: int) -> int:
    del n
    return 1 - expected


def coin(seed: int) -> Judge:
    drawn = random.Random(seed)
    return lambda n, expected: drawn.randrange(2)


def texts(
    count: int, judge: Judge, who: Lineage = BY_MODEL, *, name: str = "j", one_label: bool = False
) -> list[Observation]:
    """Flipped texts of rows whose labels alternate, or all pass."""
    made = []
    for n in range(count):
        expected = 0 if one_label else n % 2
        seen = call(f"r{n:03}", judge(n, expected), expected, probe="label_flip", judge=name)
        lineage = replace(who, parent=f"r{n:03}")
        made.append(replace(seen, stimulus=replace(seen.stimulus, lineage=lineage)))
    return made


def rows(count: int, label: Callable[[int], int], *, answer: Judge = right) -> list[Observation]:
    return [call(f"r{n:03}", answer(n, label(n)), label(n)) for n in range(count)]


def levels(count: int, judge: Judge, who: Lineage = BY_MODEL) -> list[Observation]:
    made = []
    for n in range(count):
        for level in range(1, 7):
            seen = call(
                f"r{n:03}", judge(n, level), level, probe="synthetic_ordinal", scale="1-6", number=level
            )
            lineage = replace(who, parent=f"r{n:03}")
            made.append(replace(seen, stimulus=replace(seen.stimulus, lineage=lineage)))
    return made


def sheet_of(observations: Iterable[Observation], names: tuple[str, ...] = ("j",)) -> Datasheet:
    return assemble(
        name="written",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[JudgeEntry(name, name, False, {"base": "sha256:1"}) for name in names],
        probes=[LabelFlip(), SyntheticOrdinal()],
        observations=list(observations),
        run={},
        own_data=True,
    )


def gated(sheet: Datasheet, policy: str) -> str:
    return apply_policy(sheet, find_policy(policy), ["j"], "run").result


@pytest.mark.parametrize("who", [BY_MODEL, BY_PERSON])
def test_flips_alone_decide_merit_where_another_accepted_them(who: Lineage) -> None:
    """40 of 40: J is 1 with a lower limit above .30; 0 of 40 lies wholly below it."""
    shown, refuted = sheet_of(texts(40, right, who)), sheet_of(texts(40, turned, who))
    assert (shown.verdict.word, refuted.verdict.word) == (NO_FAULT, UNFIT)
    assert gated(shown, "smoke") == "PASS"
    assert {gated(refuted, name) for name in ("smoke", "default", "strict")} == {"FAIL"}
    merit = shown.find("j", "merit", "label_flip", protocol="base")
    assert merit is not None
    assert (merit.value, merit.n_calls, merit.details["accepted"]) == (1.0, 40, (40, 40))


@pytest.mark.parametrize("who", [BY_AUTHOR, RECORDED])
def test_texts_that_only_their_author_accepted_give_at_most_care_and_make_nobody_unfit(who: Lineage) -> None:
    shown, missed = sheet_of(texts(40, right, who)), sheet_of(texts(40, turned, who))
    assert (shown.verdict.word, shown.verdict.advice) == (CARE, Advice.HAVE_ACCEPTED)
    assert gated(shown, "smoke") == "INCONCLUSIVE"
    assert missed.verdict.word == TOO_LITTLE
    assert [cause.name for cause in missed.verdict.causes] == ["EXPECTED"]
    merit = missed.find("j", "merit", "label_flip", protocol="base")
    assert merit is not None
    assert (merit.value, merit.reason) == (None, "unaccepted")
    assert gated(missed, "smoke") == "FAIL"


@pytest.mark.parametrize(
    ("count", "who", "word"),
    [(40, BY_MODEL, UNFIT), (20, BY_MODEL, UNFIT), (19, BY_MODEL, CARE), (40, BY_AUTHOR, CARE)],
)
def test_a_judge_that_is_right_on_rows_and_misses_accepted_flips_is_unfit(
    count: int, who: Lineage, word: str
) -> None:
    """Of 60 rows all are right; of the flips none is followed, from 20 accepted ones on that is decisive."""
    sheet = sheet_of([*rows(60, lambda n: 1 - n % 2), *texts(count, turned, who)])
    assert sheet.verdict.word == word
    assert sentence(sheet.verdict.facts[0].clause).startswith(f"follows a changed label in only 0 of {count}")
    assert {gated(sheet, name) for name in ("smoke", "default", "strict")} == {"FAIL"}


@pytest.mark.slow
def test_missed_answers_above_chance_are_a_fault_and_make_nobody_unfit() -> None:
    """56 of 100 changed labels followed, or a weak rank agreement: below the floor, and above chance."""
    part: Judge = lambda n, e: e if n // 2 % 25 < 14 else 1 - e  # noqa: E731
    flips = sheet_of([*rows(60, lambda n: 1 - n % 2), *texts(400, part)])
    (share,) = (e for e in flips.estimates if e.metric == "followed" and e.is_overall)
    assert share.value == 0.56
    drawn = random.Random(3)
    weak: Judge = lambda n, e: e if n % 6 == 0 else drawn.randint(1, 6)  # noqa: E731
    plain = [call(f"r{n:03}", 1 + n % 6, 1 + n % 6, scale="1-6") for n in range(150)]
    written = sheet_of([*plain, *levels(150, weak)])
    (rank,) = (e for e in written.estimates if e.metric == "level_agreement" and e.is_overall)
    for sheet, figure, floor in ((flips, share, 0.65), (written, rank, 0.3)):
        assert figure.decides is not None
        assert figure.decides.high < floor
        assert (sheet.verdict.word, figure.details["accepted"][0] >= 20) == (CARE, True)
    assert rank.value is not None
    assert rank.value > 0


@pytest.mark.parametrize(
    ("accepted", "by_author", "reason"), [(20, 0, None), (19, 0, "few_texts"), (10, 30, "unaccepted")]
)
def test_missed_flips_alone_refute_merit_from_twenty_accepted_ones_on(
    accepted: int, by_author: int, reason: str | None
) -> None:
    made = texts(accepted + by_author, turned, BY_AUTHOR)
    sheet = sheet_of([*texts(accepted, turned), *made[accepted:]])
    merit = sheet.find("j", "merit", "label_flip", protocol="base")
    assert merit is not None
    assert (merit.reason, merit.details["accepted"]) == (reason, (accepted, accepted + by_author))
    assert sheet.verdict.word == (UNFIT if reason is None else TOO_LITTLE)


def test_rows_with_both_labels_decide_merit_and_flips_do_not() -> None:
    """At 90/10 a judge that passes all real fails and follows flips would be cleared by a pool."""
    label: Callable[[int], int] = lambda n: int(n % 10 > 0)  # noqa: E731
    sheet = sheet_of([*rows(200, label, answer=lambda n, e: 1), *texts(200, right, one_label=True)])
    assert sheet.verdict.word == UNFIT
    assert sheet.find("j", "merit", "label_flip", protocol="base") is None


def test_rows_of_one_label_and_their_flips_are_held_against_each_other() -> None:
    """Every row should pass and every flip fail: one who always fails has J 0, one who is right 1."""
    found = {}
    for name, judge in (("right", right), ("fails", lambda n, e: 0)):
        sheet = sheet_of([*rows(40, lambda n: 1, answer=judge), *texts(40, judge, one_label=True)])
        merit = sheet.find("j", "merit", "label_flip", protocol="base")
        assert merit is not None
        found[name] = (sheet.verdict.word, merit.value, merit.n_calls)
    assert found == {"right": (NO_FAULT, 1.0, 80), "fails": (UNFIT, 0.0, 80)}


@pytest.mark.slow
def test_a_coin_on_accepted_flips_is_never_usable() -> None:
    words = {sheet_of(texts(60, coin(seed))).verdict.word for seed in range(12)}
    assert words <= {UNFIT, TOO_LITTLE}


def test_written_levels_have_a_figure_each_and_the_worst_is_named() -> None:
    """Level 4 gets a 3 in 30 of 40 texts, all others are right."""
    plain = [call(f"r{n:03}", 4, 4, scale="1-6") for n in range(40)]
    sheet = sheet_of([*plain, *levels(40, lambda n, level: 3 if level == 4 and n < 30 else level)])
    by_level = {
        e.group["target"]: (e.numerator, e.denominator)
        for e in sheet.of("j", "accuracy", "synthetic_ordinal")
        if "target" in e.group
    }
    assert by_level == {**dict.fromkeys((1, 2, 3, 5, 6), (40, 40)), 4: (10, 40)}
    (told,) = [sentence(d.clause) for d in sheet.findings if d.question.name == "Expected answers"]
    assert "level 4 is missed most often: right in 10 of 40 calls, 0.25 [" in told
    assert sheet.verdict.word == NO_FAULT
    assert sheet_of(levels(40, lambda n, level: 7 - level)).verdict.word == UNFIT


def test_texts_that_every_judge_misses_are_named_as_suspect() -> None:
    """The first three texts are missed by both judges, the next by one."""
    first = texts(40, lambda n, e: 1 - e if n < 3 else e)
    second = texts(40, lambda n, e: 1 - e if n < 4 else e, name="k")
    sheet = sheet_of([*first, *second], ("j", "k"))
    suspect = ("r000/label_flip/0", "r001/label_flip/0", "r002/label_flip/0")
    for name in ("j", "k"):
        followed = sheet.find(name, "followed", "label_flip", protocol="base")
        assert followed is not None
        assert followed.details["suspect"] == suspect
    told = [sentence(d.clause) for d in sheet.findings if d.question.name == "Expected answers"]
    assert all(
        f"every judge of the run misses 3 texts, suspect: {', '.join(suspect)}" in each for each in told
    )
    alone = sheet_of(first).find("j", "followed", "label_flip", protocol="base")
    assert alone is not None
    assert "suspect" not in alone.details


def test_a_text_is_suspect_where_every_judge_misses_it_in_every_call_and_by_two_levels() -> None:
    """Of row 0 level 3 is missed by one level, of row 1 level 5 by two; a repeat of row 2 is right."""
    missed = {(0, 3): 2, (1, 5): 3, (2, 5): 3}
    once = levels(30, lambda n, level: missed.get((n, level), level))
    (again,) = (seen for seen in once if seen.stimulus.id == "r002/synthetic_ordinal/5")
    once.append(replace(again, replicate=1, verdict=Decided("5")))
    calls = [replace(seen, judge=name) for name in ("j", "k") for seen in once]
    found = sheet_of(calls, ("j", "k")).find("k", "level_agreement", "synthetic_ordinal", protocol="base")
    assert found is not None
    assert found.details["suspect"] == ("r001/synthetic_ordinal/5",)


def test_what_would_decide_is_a_number_of_rows_with_such_texts(steelyard: Steelyard, tmp_path: Path) -> None:
    """7 of 12 texts: merit is open, and rows with such texts would decide it."""
    lines = []
    for n in range(12):
        body = {"judge": "j", "probe": "label_flip", "task": f"r{n}", "item": f"r{n}", "variant": "perturbed"}
        lines.append({**body, "edit": "flip", "score": n % 2 if n < 9 else 1 - n % 2, "expected": n % 2})
    file = tmp_path / "v.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    screen = " ".join(steelyard("import", file, "--out", tmp_path / "run").stdout.split())
    assert "tells good from bad 0.50 [" in screen
    assert "follows a changed label 0.75 [" in screen
    assert "Next: add about" in screen
    assert "rows with such texts, which would decide “tells good from bad”" in screen


def test_changed_texts_that_leave_a_question_open_ask_for_rows_with_such_texts(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    """Every row is right and 45 of 80 changes are followed, .56 where .65 is wanted: rows would decide."""
    lines = []
    for n in range(80):
        body = {"judge": "j", "probe": "label_flip", "task": f"r{n}", "item": f"r{n}"}
        lines.append({**body, "variant": "original", "score": n % 2, "expected": n % 2})
        changed = {"variant": "perturbed", "edit": "flip", "expected": 1 - n % 2}
        lines.append({**body, **changed, "score": 1 - n % 2 if n < 45 else n % 2})
    file = tmp_path / "v.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    screen = " ".join(steelyard("import", file, "--out", tmp_path / "run").stdout.split())
    assert "follows a changed label 0.56 [0.45, 0.67] at least 0.65 undecided" in screen
    # (1.96 + .84)² · .5625 · .4375 / (.65 − .5625)² = 252 in all, of which 80 are there.
    told = re.search(r"Next: add about (\d+) rows with such texts, which would decide “follows a ch", screen)
    assert told is not None, screen
    assert int(told[1]) == pytest.approx(172, rel=0.05)


def test_written_levels_have_a_confusion_matrix_of_their_own() -> None:
    sheet = sheet_of(levels(40, lambda n, level: 3 if level == 4 and n < 30 else level))
    (matrix,) = sheet.confusion
    assert (matrix.probe, matrix.labels) == ("synthetic_ordinal", tuple("123456"))
    assert matrix.calls[3][:6] == (0, 0, 30, 10, 0, 0)
    ((table, strata),) = confusion_tables(summarise(sheet))
    assert (table.title, strata) == ("j, written levels", [])


@pytest.mark.parametrize(
    ("validator", "word"), [("checker", "no fault found"), ("writer", "usable with care")]
)
def test_flips_alone_from_data_to_the_first_screen(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validator: str, word: str
) -> None:
    """Rows that all pass, as a published config has them: the asked test is on the screen, with a verdict."""
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(Cast()) as server:
        write_study(
            tmp_path,
            server,
            count=48,
            probes=["label_flip"],
            validator={"model": model(validator, server)},
        )
        rows = [json.loads(line) for line in Path("sky.jsonl").read_text(encoding="utf-8").splitlines()]
        passing = [json.dumps(row) for row in rows if str(row["label"]) == "1"]
        Path("sky.jsonl").write_text("\n".join(passing), encoding="utf-8")
        done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    screen = " ".join(done.out.split())
    assert f"grader: {word}" in screen
    assert f"follows a changed label in {len(passing)} of {len(passing)} calls" in screen
    assert "tells good from bad 1.00 [" in screen
    assert "follows a changed label 1.00 [" in screen
