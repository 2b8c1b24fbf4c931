"""Transcripts: what chat messages become, how they are kept, shown and prepared."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.content_hash import content_hash
from steelyard.errors import ConfigError, DataError, UnknownNameError
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import Binary, Item
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.preprocess import PREPROCESSORS, Fitted, Preparation, fitted
from steelyard.tasks.transcripts.transcript import (
    Block,
    RunScore,
    ScoreEntry,
    ToolCall,
    Transcript,
    Turn,
    clip_text,
    render_transcript,
)

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You book rooms."},
    {"role": "user", "content": "Book room 4 for Monday."},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "First see whether it is free.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_room", "arguments": '{"room": 4}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"free": true}'},
    {"role": "assistant", "content": "Room 4 is free and booked."},
]


def run_of(messages: list[dict[str, Any]] = CHAT, name: str = "r1") -> Transcript:
    return Transcript(name, turns_of(messages, "here"))


def test_chat_completions_keep_blocks_calls_arguments_and_results() -> None:
    turns = run_of().turns
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert turns[2].blocks == (Block("reasoning", "First see whether it is free."),)
    assert turns[2].calls == (ToolCall("c1", "get_room", {"room": 4}),)
    assert (turns[3].call, turns[3].function, turns[3].text) == ("c1", "get_room", '{"free": true}')


def test_content_blocks_with_tools_and_results_inside_are_the_same_run() -> None:
    blocks = [
        *CHAT[:2],
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "First see whether it is free.", "signature": "x"},
                {"type": "tool_use", "id": "c1", "name": "get_room", "input": {"room": 4}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"free": true}'}],
        },
        CHAT[4],
    ]
    assert render_transcript(run_of(blocks)) == render_transcript(run_of())


def test_a_rendering_numbers_messages_and_shows_arguments_and_results_in_full() -> None:
    long = "x" * 5000
    messages = [
        *CHAT[:2],
        {**CHAT[2], "tool_calls": [{"id": "c", "function": "f", "arguments": {"q": long}}]},
    ]
    text = render_transcript(run_of(messages))
    assert f'[tool call c] f {{"q": "{long}"}}' in text
    assert render_transcript(run_of()).split("\n\n")[2:4] == [
        '[003] ASSISTANT\n[reasoning] First see whether it is free.\n[tool call c1] get_room {"room": 4}',
        '[004] TOOL RESULT get_room (call c1)\n{"free": true}',
    ]


def test_hidden_reasoning_and_images_are_named_and_kept() -> None:
    hidden = {"type": "reasoning", "reasoning": "gAAAA", "redacted": True}
    image = {"type": "image", "image": "data:image/png;base64,AAAA", "name": "plan.png"}
    run = run_of([{"role": "assistant", "content": [hidden, image]}])
    assert render_transcript(run) == "[001] ASSISTANT\n[reasoning that can not be read]\n[image plan.png]"
    assert run.turns[0].blocks[0].body == {"reasoning": "gAAAA", "redacted": True}
    assert run.turns[0].blocks[1].body == {"image": "data:image/png;base64,AAAA", "name": "plan.png"}


def test_arguments_that_are_no_json_are_kept_and_told() -> None:
    run = run_of([{"role": "assistant", "function_call": {"name": "f", "arguments": "{broken"}}])
    assert run.turns[0].calls == (ToolCall("call_1", "f", {"arguments": "{broken"}, "not valid JSON"),)
    assert "[arguments: not valid JSON]" in render_transcript(run)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"left": 3, "note": "ő"}, '{"left": 3, "note": "ő"}'),
        ({"type": "text", "text": "three"}, "three"),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
    ],
)
def test_what_a_tool_returned_as_a_value_is_its_json(content: Any, text: str) -> None:
    (turn,) = turns_of([{"role": "tool", "tool_call_id": "c", "content": content}], "here")
    assert turn.text == text


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ([], "here: found no message"),
        (7, "here: found a int, expected a list of messages"),
        ("{", "here: not a list of messages in JSON"),
        ([{"role": "pilot", "content": "x"}], "message 1: the role is 'pilot'"),
        ([{"role": "user", "content": [{"type": "hologram"}]}], "message 1: unknown block 'hologram'"),
        ([{"role": "user", "content": 5}], "message 1: found a int, expected a list"),
        ([{"role": "assistant", "tool_calls": [{"id": "1"}]}], "tool call 1 names no function"),
        (["hello"], "message 1: found a str"),
    ],
)
def test_what_is_no_transcript_is_refused_in_one_sentence(cell: Any, told: str) -> None:
    with pytest.raises(DataError, match=told.replace("(", r"\(")):
        turns_of(cell, "here")


texts = st.text(max_size=12)
values = st.one_of(st.none(), st.booleans(), st.integers(), texts)
blocks = st.builds(
    Block, st.sampled_from(["text", "reasoning", "image"]), texts, st.none() | st.dictionaries(texts, values)
)
calls = st.builds(ToolCall, texts, texts, st.dictionaries(texts, values), st.none() | texts)
turns = st.builds(
    Turn,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(blocks, max_size=3).map(tuple),
    st.lists(calls, max_size=2).map(tuple),
    st.none() | texts,
    st.none() | texts,
    st.none() | texts,
)
entries = st.builds(ScoreEntry, values, st.none() | texts)
scores = st.builds(RunScore, texts, st.lists(entries, min_size=1, max_size=3).map(tuple))


@pytest.mark.slow
@given(
    st.lists(turns, min_size=1, max_size=4).map(tuple),
    st.lists(scores, max_size=2, unique_by=lambda score: score.scorer),
    st.integers(1, 3),
)
def test_json_gives_the_same_transcript_back(
    kept: tuple[Turn, ...], said: list[RunScore], epoch: int
) -> None:
    ordered = tuple(sorted(said, key=lambda score: score.scorer))
    run = Transcript("r", kept, epoch, ordered, {"category": "x"}, "m", "t")
    back = Transcript.from_json(json.loads(json.dumps(run.to_json())))
    assert back == run
    assert back.hash == run.hash


def test_an_item_without_a_transcript_has_the_hash_it_had() -> None:
    item = Item("1", "q", ("a",), "c")
    body = {key: value for key, value in item.content.items() if key != "type"}
    assert "transcript" not in body
    assert list(body) == [
        *("id", "request", "responses", "cluster", "label", "stratum", "rubric", "reference"),
        *("instruction", "scale", "votes", "authors"),
    ]
    assert content_hash([item.content]).startswith("sha256:")


@pytest.mark.parametrize(
    ("name", "roles", "counts"),
    [
        ("drop_system", ["user", "assistant", "tool", "assistant"], {"system messages": 1}),
        ("drop_tool_messages", ["system", "user", "assistant", "assistant"], {"tool messages": 1}),
        ("strip_tool_outputs", ["system", "user", "assistant", "tool", "assistant"], {"tool outputs": 1}),
        ("drop_reasoning", ["system", "user", "assistant", "tool", "assistant"], {"reasoning blocks": 1}),
        ("assistant_text_only", ["assistant"], {"messages": 4, "tool calls": 1}),
    ],
)
def test_a_preprocessor_says_what_it_removed_and_the_raw_messages_stay(
    name: str, roles: list[str], counts: dict[str, int]
) -> None:
    run = Preparation.of([name]).prepared(run_of(), "here")
    assert [turn.role for turn in run.turns] == roles
    assert [(removal.preprocessor, removal.counts) for removal in run.removals] == [(name, counts)]
    assert run.raw == run_of().turns
    assert name in PREPROCESSORS.names()


def test_preprocessors_follow_each_other_and_clip_says_how_much_is_missing() -> None:
    run = Preparation.of(["drop_system", {"clip": {"characters": 10}}]).prepared(run_of(), "here")
    assert run.turns[0].text == "Book [… 13 characters cut …]nday."
    assert [removal.counts for removal in run.removals] == [{"system messages": 1}, {"texts clipped": 4}]
    assert clip_text("abc", 1) == "a[… 2 characters cut …]"
    nothing = Preparation.of(["clip"]).prepared(run_of(), "here")
    assert (nothing.raw, nothing.removals[0].counts) == ((), {})


def test_preprocessors_that_leave_nothing_or_are_not_known_are_refused() -> None:
    silent = run_of([{"role": "system", "content": "x"}])
    with pytest.raises(DataError, match="'drop_system' leaves no message"):
        Preparation.of(["drop_system"]).prepared(silent, "here")
    with pytest.raises(UnknownNameError, match="did you mean 'drop_system'"):
        Preparation.of(["drop_sytem"])
    with pytest.raises(ConfigError, match="takes no such options"):
        Preparation.of([{"drop_system": {"n": 1}}])
    with pytest.raises(ConfigError, match="characters is 0"):
        Preparation.of([{"clip": {"characters": 0}}])


def test_of_code_that_is_handed_to_a_tool_the_comments_stay() -> None:
    code = "# add\nx = 1\n  # then\nprint(x)"
    call = {"id": "c", "function": "python", "arguments": {"code": code, "timeout": 3}}
    run = run_of([{"role": "assistant", "content": "x = 1", "tool_calls": [call]}])
    kept = Preparation.of(["keep_assistant_comment_lines"]).prepared(run, "here")
    assert kept.turns[0].calls[0].arguments == {"code": "# add\n  # then", "timeout": 3}
    assert kept.turns[0].text == "x = 1"
    assert kept.removals[0].counts == {"lines of code": 2}


def test_a_preprocessor_may_be_a_function_of_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, here = tmp_path / "site" / "steps_of_mine", tmp_path / "here"
    package.mkdir(parents=True)
    here.mkdir()
    (package / "__init__.py").write_text(
        "def first(turns):\n    return turns[:1], {'others': len(turns) - 1}\n"
        "def wrong(turns):\n    return list(turns)\n"
    )
    (here / "steps_beside.py").write_text("def first(turns):\n    return turns[:1], {}\n")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", str(here), str(package.parent), *sys.path])
    kept = Preparation.of(["steps_of_mine.first"]).prepared(run_of(), "here")
    assert len(kept.turns) == 1
    assert kept.removals[0].counts == {"others": 4}
    # Else a study file of another person could call any function with words of its own.
    for foreign in ({"steps_of_mine.first": {"n": 2}}, {"subprocess.run": {"args": "true"}}, "os.system"):
        with pytest.raises(ConfigError, match="takes messages and no options"):
            Preparation.of([foreign])
    with pytest.raises(ConfigError, match="gave list, expected the messages that stay"):
        Preparation.of(["steps_of_mine.wrong"]).prepared(run_of(), "here")
    with pytest.raises(ConfigError, match="is no function of an installed package"):
        Preparation.of(["steps_of_mine.absent"])
    # A file beside a study of another person is no installed package.
    with pytest.raises(ConfigError, match="is no function of an installed package"):
        Preparation.of(["steps_beside.first"])


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return
    flat = [{key: json.dumps(v) if isinstance(v, list) else v for key, v in row.items()} for row in rows]
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for line in ([*flat[0]], *([*row.values()] for row in flat)):
            book.active.append(line)
        book.save(path)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*flat[0]])
        writer.writeheader()
        writer.writerows(flat)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "xlsx"])
def test_rows_with_a_column_of_messages_are_items_with_transcripts(tmp_path: Path, ending: str) -> None:
    rows = [
        {"name": "a", "kind": "rooms", "messages": CHAT, "verdict": "0"},
        {"name": "b", "kind": "rooms", "messages": CHAT[1:], "verdict": "1"},
    ]
    _write(tmp_path / f"runs.{ending}", rows)
    config = DataConfig.model_validate(
        {
            "path": f"runs.{ending}",
            "columns": {"messages": "messages", "label": "verdict", "id": "name"},
            "stratify": "kind",
            "preprocess": ["drop_system"],
        }
    )
    first, second = config.split_items(tmp_path, Binary(), 7)[0]
    assert (first.label, second.label, first.stratum, first.cluster) == ("0", "1", "rooms", "a")
    assert first.transcript is not None
    assert first.transcript.metadata == {"kind": "rooms"}
    assert first.responses == (render_transcript(first.transcript),) == second.responses
    assert first.request == "Book room 4 for Monday."
    assert first.transcript.removals[0].counts == {"system messages": 1}


def test_data_of_transcripts_that_can_not_be_read_say_where(tmp_path: Path) -> None:
    def load(row: dict[str, Any], **config: Any) -> None:
        (tmp_path / "r.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        body = {"path": "r.jsonl", "columns": {"messages": "m"}, **config}
        DataConfig.model_validate(body).split_items(tmp_path, Binary(), 7)[0]

    with pytest.raises(DataError, match=r"line 1, column 'm', message 1: the role is None"):
        load({"m": [{"content": "x"}]})
    with pytest.raises(DataError, match=r"line 1: column 'm' holds no messages"):
        load({"m": ""})
    with pytest.raises(ConfigError, match="response is mapped, expected messages"):
        load({"m": CHAT, "r": "x"}, columns={"messages": "m", "response": "r"})
    with pytest.raises(ConfigError, match="preprocess: found beside data without transcripts"):
        load({"m": "x"}, columns={"response": "m"}, preprocess=["drop_system"])


def long_run(results: int, size: int) -> Transcript:
    """A run whose tools return much."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read them all."}]
    for n in range(results):
        call = {"id": f"c{n}", "function": "read", "arguments": {"n": n}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"{n}" * size})
    return run_of([*messages, {"role": "assistant", "content": "All read."}])


def test_a_run_that_fits_is_shown_whole() -> None:
    run = long_run(3, 50)
    assert fitted(run, len(render_transcript(run))) == Fitted(render_transcript(run))


@pytest.mark.parametrize("share", [0.9, 0.6, 0.4])
def test_long_results_are_shortened_first_and_every_cut_is_stated(share: float) -> None:
    run = long_run(4, 3000)
    room = int(len(render_transcript(run)) * share)
    made = fitted(run, room)
    assert made is not None
    assert len(made.text) <= room
    assert made.text.startswith("(This transcript is shortened: ")
    assert f"{made.cut:,} characters are cut" in made.text
    assert (made.text.count("characters cut …]"), made.messages) == (4, 0)
    assert "All read." in made.text
    assert len(made.text) > room * 0.9  # no more is cut than has to be


def test_where_that_does_not_do_messages_are_left_out_of_the_middle() -> None:
    run = long_run(30, 400)
    made = fitted(run, 3000)
    assert made is not None
    assert len(made.text) <= 3000
    [(first, last)] = re.findall(r"\[… messages (\d+) to (\d+) cut …\]", made.text)
    assert int(last) - int(first) + 1 == made.messages
    assert made.text.startswith("(This transcript is shortened")
    assert f"{made.messages} whole messages among them" in made.text
    assert "[001] USER" in made.text
    assert made.text.endswith("[062] ASSISTANT\nAll read.")


def test_a_run_whose_ends_do_not_fit_has_no_rendering() -> None:
    assert fitted(long_run(30, 400), 220) is None
    assert fitted(run_of([{"role": "assistant", "content": "x" * 5000}]), 250) is None


@given(st.integers(1, 20), st.integers(1, 900), st.integers(300, 9000))
def test_what_is_shown_always_fits_and_says_what_is_missing(results: int, size: int, room: int) -> None:
    run = long_run(results, size)
    made = fitted(run, room)
    if made is None:
        assert room < 1500
        return
    assert len(made.text) <= room
    assert (made.cut == 0) == (made.text == render_transcript(run))
    assert made.text.rstrip().endswith("All read.")
