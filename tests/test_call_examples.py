"""Exhibits of a published datasheet: a real run over HTTP whose judge has every fault that can be shown."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest

from commands import Command, run_command
from said import decision
from servers import Answer, Received, ScriptedServer, fails, says, wins
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example import truncate_text
from steelyard.datasheet.example_selection import ExampleSelector
from steelyard.datasheet.questions.questions import QUESTIONS, examples_behind
from steelyard.datasheet.render.data_files import dumps, to_json
from steelyard.run_folder.published_files import read_datasheet
from steelyard.verdicts.observations import Observations

HOSTILE = "\x1b[2J \u202eevil </pre><script>alert(1)</script> ````` {{ 7*7 }}\n\n# heading " + "x" * 200_000
WITHOUT = {"Threshold", "Criterion", "Instrument", "Resolution", "Volatility", "Cost", "Failures"}
"""Readings that rest on no calls of their own, and the one whose exhibits are chosen by reason."""


def answer(request: Received) -> Answer:
    """Slot 1, but for one call in three: too long, prose, cut off, off the scale."""
    odd = [fails(400, "the context window is \x1b[31mtoo small"), says(HOSTILE), says("", finish="length")]
    odd.append(says('{"winner": "3"}'))
    place = zlib.crc32(request.data) % 12
    return odd[place] if place < len(odd) else wins("1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exhibits") / "run"
    with ScriptedServer(answer) as server:
        judge = f"openai/tested?base_url={server.url}&api_key_env=STEELYARD_TEST_KEY"
        arguments = [
            "measure",
            "-j",
            judge,
            "-p",
            "vacuum",
            "-p",
            "ladder",
            "--no-preflight",
            "--out",
            str(path),
        ]
        run_command(path.parent, *arguments, STEELYARD_TEST_KEY="sk-secret")
    return path


@pytest.fixture(scope="module")
def sheet(folder: Path) -> Datasheet:
    return read_datasheet(folder)


def test_every_flagged_reading_has_its_calls_and_no_other_has(sheet: Datasheet) -> None:
    flagged = {d.title for d in sheet.findings if d.status == "flagged" and d.question.examples is not None}
    assert flagged, "the scripted judge should be flagged"
    shown = [exhibit.reading for exhibit in sheet.exhibits]
    assert set(shown) == flagged | {"Failures"}
    assert all(shown.count(title) <= 3 for title in flagged)
    for exhibit in sheet.exhibits:
        if exhibit.reading == "Dark current":
            assert exhibit.probe == "vacuum"
            assert [call.verdict for call in exhibit.calls] == ["1", "1"]


def test_every_reason_of_a_lost_call_has_one_reply_verbatim(sheet: Datasheet) -> None:
    lost = [exhibit for exhibit in sheet.exhibits if exhibit.reading == "Failures"]
    calls = [exhibit.calls for exhibit in lost]
    assert [len(mine) for mine in calls] == [1] * len(calls)
    replies = {mine[0].reason: mine[0].reply or mine[0].message for mine in calls}
    assert set(replies) == {"no answer", "truncated", "not on the scale", "context_overflow"}
    assert replies["not on the scale"] == '{"winner": "3"}'
    assert replies["truncated"] == "[finish: length]"
    assert "too small" in str(replies["context_overflow"])
    assert str(replies["no answer"]).startswith("\x1b[2J \u202eevil </pre><script>alert(1)</script>")


def test_texts_of_any_length_stay_text_and_the_files_stay_small(folder: Path) -> None:
    page, text = ((folder / f"datasheet.{form}").read_text(encoding="utf-8") for form in ("html", "md"))
    assert "<script>alert" not in page
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)" in page
    for document in (page, text):
        assert "\x1b" not in document
        assert "\u202e" not in document
        assert "xxxx" in document
        assert re.search(r"\[… 199,\d{3} characters …\]", document)
        assert "sk-secret" not in document
    assert len(page) < 600_000
    assert len(text) < 60_000


def test_a_fence_in_a_reply_does_not_end_the_fence_around_it(folder: Path) -> None:
    text = (folder / "datasheet.md").read_text(encoding="utf-8")
    hostile = next(part for part in text.split("<details>") if "# heading" in part)
    (fence,) = set(re.findall(r"^`{6,}", hostile, re.M))
    inside = hostile.split(f"{fence}text\n")[1].split(f"\n{fence}")[0]
    assert "# heading" in inside
    assert "`````" in inside


def test_readings_link_to_their_exhibits(folder: Path) -> None:
    page = (folder / "datasheet.html").read_text(encoding="utf-8")
    targets = set(re.findall(r'href="#(exhibit-\d+-\d+)"', page))
    assert targets
    assert targets <= set(re.findall(r'id="(exhibit-\d+-\d+)"', page))


def test_a_report_gives_the_same_bytes(command: Command, folder: Path) -> None:
    names = ("datasheet.json", "datasheet.md", "datasheet.html")
    before = {name: (folder / name).read_bytes() for name in names}
    assert command("report", folder).code == 0
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_a_file_of_an_earlier_program_has_none(sheet: Datasheet) -> None:
    body = to_json(sheet)
    del body["exhibits"]
    assert Datasheet.from_json(body).exhibits == ()
    assert Datasheet.loads(dumps(sheet)).exhibits == sheet.exhibits


def test_every_question_either_rests_on_calls_or_is_known_not_to() -> None:
    assert {question.name for question in QUESTIONS if question.examples is None} == WITHOUT


def test_a_reading_without_calls_of_its_own_has_no_cases() -> None:
    reading = decision("j", "Threshold", "flagged")
    assert examples_behind(reading, ExampleSelector(Observations.of([])), [], 3, 7) == []


@pytest.mark.parametrize("limit", [40, 400])
def test_a_cut_text_says_how_much_is_missing_and_can_be_written(limit: int) -> None:
    text = "ab\ud800" * 1000
    short = truncate_text(text, limit)
    short.encode("utf-8")
    assert f"[… {3000 - limit:,} characters …]" in short
    assert truncate_text("short", limit) == "short"
