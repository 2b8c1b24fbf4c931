"""A published run that nothing has changed is read again, not computed; whatever changes, it is computed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Done
from own_judges import measured as measured_sheet
from own_judges import study_of
from servers import ScriptedServer, fails, says, wins
from steelyard.commands import measure, report
from steelyard.datasheet.results import Results
from steelyard.run_folder import publication
from steelyard.run_folder import publication as stamp
from steelyard.run_folder.publication import STAMP, Publication
from steelyard.run_folder.run_folder import RunFolder

MEASURE = ("measure", "-j", "planted/probit", "-p", "vacuum", "--out", "run")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were computed again."""
    found: list[Path] = []
    rebuild = report.rebuild

    def noted(path: Path, *rest: Any, **more: Any) -> Publication:
        found.append(path)
        return rebuild(path, *rest, **more)

    monkeypatch.setattr(report, "rebuild", noted)
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was measured once; it is known by the name `run`, wherever it lies."""
    folder = tmp_path_factory.mktemp("measured")
    with chdir(folder):
        measured_sheet(study_of({"judges": ["planted/probit"], "probes": ["vacuum"]}), Path("run"))
    return folder / "run"


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path / "run")


def published_losses(path: Path = Path("run")) -> tuple[str, ...] | None:
    """What a report of the current folder finds before it computes: None where it has to."""
    return stamp.losses_if_unchanged(RunFolder(path), stamp.stored_digests(RunFolder(path)))


def stamp_again() -> None:
    """As a report does that has computed."""
    run = RunFolder(Path("run"))
    stored = stamp.stored_digests(run)
    assert stored is not None
    stamp.save_stamp(run, stored, ())


@pytest.mark.parametrize(
    "options", [(), ("--full",), *(("--format", form) for form in ("html", "md", "json", "csv"))]
)
def test_an_unchanged_run_is_read_and_reads_as_computed(
    command: Command, run: Path, computed: list[Path], options: tuple[str, ...]
) -> None:
    files = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    read = command("report", "run", *options)
    assert computed == []
    assert read == command("report", "run", *options, "--verify")
    assert computed == [Path("run")]
    assert files == {path.name: path.read_bytes() for path in run.iterdir() if path.name in files}
    command("report", "run")
    assert computed == [Path("run")], "a computed report is stamped too"


def test_the_same_command_again_reads_too(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command(*MEASURE).code == 0
    run = tmp_path / "run"

    def refuse(*_: object) -> Publication:
        raise AssertionError("computed again")

    sheet = (run / "datasheet.json").read_text()
    with monkeypatch.context() as patched:
        patched.setattr(measure, "build_publication", refuse)
        again = command(*MEASURE, "--json")
    assert (again.code, again.out) == (0, sheet)
    (run / "datasheet.html").unlink()
    assert command(*MEASURE).code == 0
    assert (run / "datasheet.html").exists()


def test_a_price_that_is_stated_later_is_counted(command: Command) -> None:
    """The study stays the same, and so do its replies; what they cost is another figure."""
    with ScriptedServer(lambda _: wins("1")) as server:
        judge = f"openai/scripted?base_url={server.url}"
        measured = [
            command("measure", "-j", judge + price, "-p", "vacuum", "--out", "run", "--json")
            for price in ("", "&input_price=10&output_price=20")
        ]
        assert len(server.requests) == 12
    assert command("report", "run") == command("report", "run", "--verify"), "the folder has no price"
    assert [json.loads(done.out)["run"].get("dollars") for done in measured] == [
        None,
        pytest.approx(12 * (100 * 10 + 5 * 20) / 1_000_000),
    ]


def test_a_judge_without_verdicts_is_an_error_each_time(command: Command) -> None:
    """A report of the run has no such error; what it publishes is no end of the measurement."""
    with ScriptedServer(lambda asked: says("hm") if asked.body["model"] == "b" else wins("1")) as server:
        judges = (word for model in "ab" for word in ("-j", f"openai/{model}?base_url={server.url}"))
        words = ("measure", *judges, "-p", "vacuum", "--out", "run", "--no-preflight")
        first = command(*words)
        assert command("report", "run").code == 0
        again = command(*words)
        assert len(server.requests) == 24
    assert (first.code, again.code) == (1, 1)
    assert "judge openai/b: no readable verdict in 12 calls" in again.err
    assert again.err == first.err


def test_files_of_two_computations_are_never_mixed(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report that began while a run went on must not write its figures between those of its end."""
    fcntl = pytest.importorskip("fcntl")
    write, tries = publication.write_results, []

    def another_writes(folder: Path, results: Results) -> None:
        handle = os.open(folder, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
        tries.append(folder)
        write(folder, results)

    monkeypatch.setattr(publication, "write_results", another_writes)
    assert command("report", "run", "--verify").code == 0
    assert tries == [Path("run")]


def append(path: Path, text: str = "\n") -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)


def replace_by_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def change_stamp(run: Path, **changes: Any) -> None:
    body = {**json.loads((run / STAMP).read_text()), **changes}
    (run / STAMP).write_text(json.dumps({name: value for name, value in body.items() if value is not None}))


CHANGES: dict[str, Callable[[Path], object]] = {
    "study.yaml": lambda run: append(run / "study.yaml", "# a remark\n"),
    "page edited": lambda run: append(run / "datasheet.html", "more"),
    "one digit of the figures": lambda run: (run / "datasheet.json").write_text(
        (run / "datasheet.json").read_text().replace('"value": 0', '"value": 1', 1)
    ),
    "results gone": lambda run: (run / "results.csv").unlink(),
    "a file more": lambda run: (run / "columns.jsonl").write_text(""),
    "stamp gone": lambda run: (run / STAMP).unlink(),
    "stamp of nothing": lambda run: (run / STAMP).write_text(""),
    "stamp that is a list": lambda run: (run / STAMP).write_text("[]"),
    "stamp without files": lambda run: (run / STAMP).write_text("{}"),
    "stamp of bytes": lambda run: (run / STAMP).write_bytes(b"\xff\xfe"),
    "stamp of many brackets": lambda run: (run / STAMP).write_text("[" * 100_000),
    "stamp that is a pipe": lambda run: replace_by_pipe(run / STAMP),
    "votes that are a pipe": lambda run: replace_by_pipe(run / "review.db"),
    "signature gone": lambda run: change_stamp(run, signature=None),
    "losses that were added": lambda run: change_stamp(run, losses=["judge coin: nothing is lacking."]),
    "signature that is a number": lambda run: change_stamp(run, signature=1),
    "losses that are none": lambda run: (run / STAMP).write_text('{"losses": 1}'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_nothing_is_read(run: Path, tmp_path: Path, change: str) -> None:
    with chdir(tmp_path):
        assert published_losses() == ()
        CHANGES[change](run)
        assert published_losses() is None


MENDED = ("study.yaml", "page edited", "one digit of the figures", "results gone", "a file more",
          "stamp that is a pipe", "votes that are a pipe")  # fmt: skip


@pytest.mark.parametrize("change", MENDED)
def test_whatever_changes_it_is_computed(
    command: Command, run: Path, computed: list[Path], change: str
) -> None:
    sheet, page = (run / "datasheet.json").read_bytes(), (run / "datasheet.html").read_bytes()
    CHANGES[change](run)
    assert command("report", "run").code == 0
    assert computed == [Path("run")]
    assert ((run / "datasheet.json").read_bytes(), (run / "datasheet.html").read_bytes()) == (sheet, page)
    assert (run / "results.csv").exists()
    assert published_losses() == (None if change == "votes that are a pipe" else ()), "stamped again"


def test_another_program_another_name_or_a_plug_in_computes(
    command: Command, run: Path, computed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, run.with_name("copy"))
    assert published_losses(Path("copy")) is None
    assert command("report", "./run/").code == 0
    assert computed == [], "one name, however it is spelt"
    with monkeypatch.context() as patched:
        patched.setattr(stamp, "plug_ins_installed", lambda: True)
        assert command("report", "run").code == 0
        assert computed == [Path("run")]
        assert published_losses() is None
    assert published_losses() == ()
    monkeypatch.setattr(stamp, "program_digest", lambda: "of tomorrow")
    assert published_losses() is None


def test_figures_are_read_under_any_name_of_the_folder(
    run: Path, tmp_path: Path, computed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A viewer that is given the folder above, or is started elsewhere, computes nothing again."""
    monkeypatch.chdir(tmp_path)
    sheet, moved = report.current_datasheet(Path("run")), run.rename(tmp_path / "moved")
    assert report.current_datasheet(moved) == sheet
    assert report.current_lines(moved) == (moved / "results.jsonl").read_bytes()
    assert computed == []
    change_stamp(moved, folder="moved")
    assert report.current_datasheet(moved) == sheet
    assert computed == [moved], "the name is signed"


def test_a_folder_of_somebody_else_is_computed(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its figures may be forged, and its stamp with them: they were signed with another key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "mine"))
    key = tmp_path / "mine" / "stamp.key"
    assert published_losses() is None
    stamp_again()
    assert published_losses() == ()
    assert key.stat().st_mode & 0o777 == 0o600
    key.write_bytes(b"")
    assert published_losses() is None
    stamp_again()
    key.chmod(0o644)
    assert published_losses() is None, "others could read the key"
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cache", ["file", "relative", "~nobody-of-this-name/cache"])
def test_without_a_cache_of_this_user_every_report_computes(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: str
) -> None:
    """A cache in the current folder may have come with the run folder, its key with the stamp."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("no folder")
    monkeypatch.setenv("STEELYARD_CACHE", str(Path("file").resolve()) if cache == "file" else cache)
    assert published_losses() is None
    stamp_again()
    assert published_losses() is None
    assert not Path(cache).is_dir()


def test_a_reply_more_computes_even_before_it_is_in_the_database_file(run: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(run / "run.db")) as database, chdir(tmp_path):
        database.execute("PRAGMA journal_mode = WAL")
        stamp_again()
        assert published_losses() == ()
        before = (run / "run.db").read_bytes()
        database.execute("CREATE TABLE another (number)")
        database.commit()
        assert (run / "run.db").read_bytes() == before
        assert published_losses() is None


def scripted(command: Command, status: int) -> Done:
    """Measure a judge whose server fails after three answers."""
    answers = iter([wins("1"), wins("2"), wins("1")])
    with ScriptedServer(lambda _: next(answers, None) or fails(status)) as server:
        judge = f"openai/scripted?base_url={server.url}"
        return command("measure", "-j", judge, "-p", "vacuum", "--out", "run", "--concurrency", 1)


def test_what_is_lacking_is_said_again(command: Command, computed: list[Path]) -> None:
    """Calls that failed for good are no part of the figures, and every report says so."""
    assert scripted(command, 400).code == 0
    read = command("report", "run")
    assert computed == []
    assert "9 of 12 trials failed (bad_request 9)" in read.err
    assert read == command("report", "run", "--verify")


def test_a_run_without_its_end_is_computed(command: Command, tmp_path: Path, computed: list[Path]) -> None:
    assert scripted(command, 401).code == 2
    assert not (tmp_path / "run" / STAMP).exists()
    for _ in range(2):
        assert "never made" in command("report", "run").err
    assert computed == [Path("run")] * 2
