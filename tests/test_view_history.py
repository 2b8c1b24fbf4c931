"""History over runs of one judge: figures in order of time, and changes by the rule of `compare`."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import run_command
from review_sessions import Client, serving
from steelyard.commands.compare import Target, compare_targets
from steelyard.run_folder.published_files import read_datasheet
from steelyard.web.view.app import ViewPages
from steelyard.web.view.history import histories

JUDGES = {"a-monday": "tie", "b-tuesday": "tie", "c-wednesday": "first"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of a judge that keeps its name and, on the last day, names the first text always."""
    folder = tmp_path_factory.mktemp("history")
    for day, model in JUDGES.items():
        judge = f"planted/{model}?name=gate"
        run_command(folder, "measure", "-j", judge, "-p", "vacuum", "--out", day)
    return folder


def test_a_change_is_shown_where_compare_shows_a_difference(folder: Path) -> None:
    days = list(JUDGES)
    runs = [(number, day, read_datasheet(folder / day)) for number, day in enumerate(days)]

    def compared(first: str, second: str):  # type: ignore[no-untyped-def]
        sides = [Target(folder / days[int(side.partition(":")[0])], "gate") for side in (first, second)]
        return compare_targets(*sides)

    (history,) = histories(reversed(runs), compared)
    assert history.title == "gate"
    assert [row.folder for row in history.rows] == days[::-1]  # newest first, by when the runs ended
    newest, second, first = history.rows
    assert first.change is None
    assert second.change is not None
    assert not second.change.shown
    assert newest.change is not None
    assert newest.change.shown
    assert newest.change.moved == {
        (row.probe, row.metric, frozenset(row.group.items()) - {("protocol", "base")})
        for row in compared("1:", "2:").rows
        if row.differs
    }
    assert "reacts to nothing 0.00 → 1.00" in newest.change.sentence
    place = history.columns.index("reacts to nothing")
    shown = [row.figures[place] for row in history.rows]
    assert [each.estimate.value for each in shown if each] == [1.0, 0.0, 0.0]
    assert newest.word is not None
    assert newest.word == runs[2][2].verdicts[0]
    assert history.changes == 1


def test_a_study_with_another_judge_each_time_is_one_history(folder: Path, tmp_path: Path) -> None:
    other = read_datasheet(folder / "a-monday"), read_datasheet(folder / "c-wednesday")
    text = (folder / "c-wednesday" / "datasheet.json").read_text().replace('"gate"', '"gate-2"')
    (tmp_path / "datasheet.json").write_text(text)
    renamed = read_datasheet(tmp_path)
    assert renamed.judges[0].name == "gate-2"

    def compared(first: str, second: str):  # type: ignore[no-untyped-def]
        return compare_targets(Target(folder / "a-monday", "gate"), Target(folder / "c-wednesday", "gate"))

    (history,) = histories([(0, "old", other[0]), (1, "new", renamed)], compared)
    assert history.title == f"Study {renamed.name}"
    assert [row.judge for row in history.rows] == ["gate-2", "gate"]


def test_the_pages_are_made_from_the_folder_of_runs_alone(folder: Path) -> None:
    pages = ViewPages([folder])
    assert [run.path.name for run in pages.runs] == list(JUDGES)
    with serving(lambda _: pages.app()) as server:
        client = Client.of(server)
        assert 'href="/history"' in client.get("/").text
        text = client.get("/history").text
        assert text.count("1 change shown") == 1
        assert text.index("c-wednesday") < text.index("b-tuesday") < text.index("a-monday")
        link = "/compare?first=1%3Agate&amp;second=2%3Agate"
        assert link in text
        assert client.get(link.replace("&amp;", "&")).status == 200
        assert 'class="behind" href="/run/2/calls?figure=' in text
