"""Several processes in one folder of labels, kills between its commits, and a record that was edited."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from commands import Command, StartedCommand
from review_sessions import Client, serving
from steelyard.core.content_hash import content_hash
from steelyard.review.labelling import LabelSession
from steelyard.web.review_app import LabelPages

ITEMS = 40
DRAW = (
    *("labels", "draw", "v.csv", "--judge", "j", "--texts", "response=item"),
    *("-n", ITEMS, "--design", "random", "--out", "d"),
)


@pytest.fixture
def folder(command: Command, tmp_path: Path) -> Path:
    """A draw of 40 test items, with a sheet on which all are 1; none is added yet."""
    (tmp_path / "v.csv").write_text("item,j\n" + "".join(f"{n},{n % 2}\n" for n in range(60)))
    assert command(*DRAW).code == 0
    for name, label in (("ones", "1"), ("zeros", "0")):
        write_sheet(tmp_path, name, label)
    return tmp_path / "d"


def write_sheet(folder: Path, name: str, label: str, rows: slice = slice(None)) -> None:
    lines = (folder / "d" / "sheet.csv").read_text().splitlines()
    kept = [{**row, "label": label} for row in csv.DictReader(lines)][rows]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, kept[0])
        writer.writeheader()
        writer.writerows(kept)


def kept(folder: Path) -> list[str]:
    """Labels of the database."""
    with closing(sqlite3.connect(folder / "labels.db", timeout=30)) as database:
        return [row[0] for row in database.execute("SELECT label FROM decisions ORDER BY id")]


def published(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]


@contextmanager
def held_back(folder: Path) -> Iterator[list[StartedCommand]]:
    """Commands begun in here have the database open, and none of them writes before the end."""
    started: list[StartedCommand] = []
    with closing(sqlite3.connect(folder / "labels.db", timeout=30, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield started
        for each in started:
            each.wait_until(lambda each=each: has_open(each.pid, folder / "labels.db"))  # type: ignore[misc]
        database.execute("COMMIT")


def has_open(pid: int, path: Path) -> bool:
    try:
        return any(os.path.realpath(link) == str(path) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it has ended, or closes a file at this moment
        return False


def test_of_eight_processes_one_opens(folder: Path, command: Command, environment: dict[str, str]) -> None:
    command("labels", "add", "d", "ones.csv")
    with held_back(folder) as started:
        started += [StartedCommand(["labels", "open", "d"], folder.parent, environment) for _ in range(8)]
    ended = [(each.communicate(), each.wait()) for each in started]
    assert sorted(code for _, code in ended) == [0] + [2] * 7
    assert sum("Opened at" in out for (out, _), _ in ended) == 1
    assert sum("it opens once" in err for (_, err), _ in ended) == 7
    assert len(published(folder)) == ITEMS


def test_of_two_sheets_that_contradict_one_is_kept(
    folder: Path, command: Command, environment: dict[str, str]
) -> None:
    with held_back(folder) as started:
        sheets = ("ones.csv", "zeros.csv")
        started += [
            StartedCommand(["labels", "add", "d", each], folder.parent, environment) for each in sheets
        ]
    ended = [(each.communicate()[1], each.wait()) for each in started]
    assert sorted(code for _, code in ended) == [0, 2]
    assert sum("otherwise before" in err for err, _ in ended) == 1
    assert kept(folder) in (["1"] * ITEMS, ["0"] * ITEMS)


def test_a_sheet_is_added_whole_or_not_at_all_while_the_part_is_opened(
    folder: Path, command: Command, environment: dict[str, str]
) -> None:
    write_sheet(folder.parent, "some", "1", slice(4))
    command("labels", "add", "d", "some.csv")
    with held_back(folder) as started:
        for arguments in (["add", "d", "ones.csv"], ["open", "d", "--incomplete"]):
            started.append(StartedCommand(["labels", *arguments], folder.parent, environment))
    adding, opening = [(each.communicate()[1], each.wait()) for each in started]
    assert opening[1] == 0, opening
    assert (adding[1], len(kept(folder))) in [(0, ITEMS), (2, 4)], adding
    assert "opened at" in adding[0] or not adding[1]
    assert len(published(folder)) == len(kept(folder))


def test_a_kill_before_the_commit_keeps_no_label_of_a_sheet(
    folder: Path, command: Command, environment: dict[str, str]
) -> None:
    with held_back(folder) as started:
        started.append(StartedCommand(["labels", "add", "d", "ones.csv"], folder.parent, environment))
        started[0].wait_until(lambda: has_open(started[0].pid, folder / "labels.db"))
        started[0].kill()
    assert kept(folder) == []
    assert f"{ITEMS} labels added, 0 known already" in command("labels", "add", "d", "ones.csv").out


@pytest.mark.parametrize("words", [("add", "d", "tuning.csv"), ("open", "d")], ids=["add", "open"])
def test_a_kill_between_the_commit_and_the_file_of_labels(
    command: Command, tmp_path: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    """The file is made of the database by every later command; what is committed counts once."""
    (tmp_path / "v.csv").write_text("item,j\n" + "".join(f"{n},{n % 2}\n" for n in range(60)))
    assert command(*DRAW, "--tune", 10).code == 0
    write_sheet(tmp_path, "tuning", "1")
    folder = tmp_path / "d"
    if words[0] == "open":
        command("labels", "add", "d", "tuning.csv")
    os.mkfifo(folder / "labels.jsonl.part")  # whoever writes there waits for a reader
    started = StartedCommand(["labels", *words], tmp_path, environment)

    def is_committed() -> bool:
        with closing(sqlite3.connect(folder / "labels.db", timeout=30)) as database:
            opened = database.execute("SELECT count(*) FROM meta WHERE key = 'opened'").fetchone()[0]
        return bool(opened) if words[0] == "open" else len(kept(folder)) == ITEMS

    started.wait_until(is_committed)
    started.kill()
    (folder / "labels.jsonl.part").unlink()
    assert len(kept(folder)) == ITEMS
    again = command("labels", *words)
    assert (
        (again.code, "it opens once" in again.err) == (2, True)
        if words[0] == "open"
        else (f"0 labels added, {ITEMS} known already" in again.out)
    )
    assert len(kept(folder)) == ITEMS
    assert len(published(folder)) == (ITEMS if words[0] == "open" else 10)


def test_a_page_that_was_open_before_the_part_takes_no_label(folder: Path, command: Command) -> None:
    """Another process opens the part; the page asks the database, not its memory."""
    command("labels", "add", "d", "ones.csv")
    with (
        closing(LabelSession(folder)) as session,
        serving(lambda _: LabelPages(session, "people").app()) as at,
    ):
        client, item = Client.of(at), session.draw.items[0]
        assert client.post("/label", {"item": item, "answer": "0"}).status == 200
        assert command("labels", "open", "d").code == 0
        before = kept(folder)
        assert client.post("/label", {"item": item, "answer": "1"}).status == 409
        assert client.post("/undo", {}).status == 409
    assert kept(folder) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", "other.csv"), ("judge", "k"), ("criterion", "tone"), ("design", "strata"), ("seed", 8),
        ("scale", "1-5"), ("at", "2026-01-01T00:00:00+00:00"), ("stop", 0.9),
        ("score", 0.25), ("annotators", ["eve"]), ("item", "x"), ("key", "0123456789abcdef"),
    ],
)  # fmt: skip
def test_no_field_of_the_record_can_be_edited(
    folder: Path, command: Command, field: str, value: object
) -> None:
    path = folder / "draw.json"
    body = json.loads(path.read_text())
    (body if field in body else body["units"][0])[field] = value
    path.write_text(json.dumps(body))
    done = command("labels", "add", "d")
    assert (done.code, "draw.json: not the draw that was made (its hash differs)" in done.err) == (2, True)


def test_a_record_of_the_first_format_is_read(folder: Path, command: Command) -> None:
    """Its hash was of the frame alone."""
    path = folder / "draw.json"
    body = json.loads(path.read_text())
    names = ("item", "system", "versus", "level", "part")
    frame = content_hash([[unit[name] for name in names] for unit in body["units"]])
    del body["hash"]
    path.write_text(json.dumps({**body, "schema": "steelyard.draw/1", "frame_hash": frame}))
    assert f"{ITEMS} labels added" in command("labels", "add", "d", "ones.csv").out
    assert command("labels", "open", "d").code == 0
    body["units"][0]["level"] = "other"
    path.write_text(json.dumps({**body, "schema": "steelyard.draw/1", "frame_hash": frame}))
    assert "its hash differs" in command("labels", "add", "d").err
