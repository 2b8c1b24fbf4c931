"""Names, paths, replies and messages stay text; an odd environment ends in a sentence."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import steelyard as steelyard_package
from commands import StartedCommand, run_command
from docs_pages import ROOT
from own_judges import measured, study_of
from servers import ScriptedServer, fails, says, wins
from steelyard.cli.help import COMMANDS
from steelyard.cli.main import TRANSLITERATE, prepare_streams
from steelyard.cli.options import NOT_NEGATIVE, POSITIVE
from steelyard.cli.output import describe_calls
from steelyard.core.text import escape_control_chars, escape_keeping_spaces
from steelyard.runner.session import RunSession

FAST = ("--attempts", 1, "--backoff", 0, "--timeout", 60, "--concurrency", 4)
CLEAR = "\x1b[2J\x1b]0;owned\x07"
"""Clears the screen and renames the window of a terminal that obeys it."""
PROGRAM = (sys.executable, "-m", "steelyard")

Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def shell(tmp_path: Path, environment: dict[str, str]) -> Shell:
    """Run `steelyard` inside a line of shell, where $S stands for the command."""

    def run(line: str, **extra: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", line.replace("$S", " ".join(PROGRAM))],
            cwd=tmp_path,
            env={**environment, **extra},
            capture_output=True,
            timeout=300,
            check=False,
        )

    return run


def on_a_terminal(
    arguments: tuple[object, ...], folder: Path, environment: dict[str, str]
) -> tuple[int, str]:
    """Exit code and everything that reached the terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    seen = bytearray()

    def read() -> bool:
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(ours, 65536):
                seen.extend(piece)
        return False

    terminal = os.ttyname(theirs)
    started = StartedCommand(arguments, folder, {**environment, "TERM": "xterm"}, terminal=terminal)
    started.wait_until(read)
    read()
    os.close(ours)
    os.close(theirs)
    return started.wait(), seen.decode("utf-8", "replace")


def assert_one_sentence(text: str) -> None:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("steelyard: ")


# Markup


def test_a_plan_prints_names_and_paths_as_they_are(steelyard) -> None:
    done = steelyard("plan", "-j", "openai/a[/]b[red]", "--out", "x[/]y[bold]")
    assert done.returncode == 0, done.stderr
    assert "openai/a[/]b[red]" in done.stdout
    assert "Run folder: x[/]y[bold]" in done.stdout


def test_a_run_prints_names_and_paths_as_they_are(steelyard, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text('judges: [{name: "a[/]b", model: planted/coin}]\nprobes: [vacuum]\n')
    done = steelyard("measure", "s.yaml", "--out", "x[/]y  z")
    assert done.returncode == 0, done.stderr
    assert "a[/]b" in done.stdout
    assert "Page: x[/]y  z/datasheet.html" in done.stdout
    assert "Page: x[/]y  z/datasheet.html" in steelyard("report", "x[/]y  z").stdout


def test_bars_on_a_terminal_show_names_and_failures_as_text(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with ScriptedServer(fails(400, "bad [/] thing"), wins("tie")) as server:
        (tmp_path / "s.yaml").write_text(
            f'judges: [{{name: "a[/]b", model: "openai/x?base_url={server.url}"}}]\nprobes: [vacuum]\n'
        )
        code, seen = on_a_terminal(("measure", "s.yaml", "--out", "run", *FAST), tmp_path, environment)
    assert code == 0, seen
    assert "Traceback" not in seen
    assert re.search(r"a\[/\]b .*1 failed", seen)


@pytest.mark.parametrize(
    ("answer", "code"), [(says("[/] 1 [red]"), 1), (fails(401, "no [/] key"), 2), (fails(400, "[/]"), 1)]
)
def test_the_doctor_prints_replies_and_errors_as_they_are(steelyard, answer, code: int) -> None:
    with ScriptedServer(answer) as server:
        done = steelyard("doctor", "-j", f"openai/m[/]?base_url={server.url}")
    assert done.returncode == code, done.stderr
    assert "[/]" in done.stdout
    assert_one_sentence(done.stderr)


# Terminal codes


def test_a_servers_message_cannot_command_the_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    with ScriptedServer(lambda request: fails(401, f"no{CLEAR}\nsteelyard: all is well")) as server:
        judge = f"openai/x?base_url={server.url}"
        for command in (("measure", "-p", "vacuum", "--out", "run", *FAST), ("doctor",)):
            code, seen = on_a_terminal((*command, "-j", judge), tmp_path, environment)
            assert code == 2, seen
            assert "\x1b[2J" not in seen
            assert "\x1b]0;" not in seen
            assert not re.search(r"^steelyard: all is well", seen, re.MULTILINE)


def test_messages_of_a_run_stay_on_one_line_each(steelyard) -> None:
    with ScriptedServer(wins("tie"), fails(500, f"no{CLEAR}\nmore")) as server:
        judge = f"openai/x?base_url={server.url}"
        done = steelyard("measure", "-j", judge, "-p", "vacuum", "--out", f"r{CLEAR}", *FAST)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr
    assert all(line.startswith("steelyard: ") for line in done.stderr.splitlines())
    assert r"Page: r\x1b[2J" in done.stdout


@pytest.mark.parametrize("arguments", [["measure", f"--{CLEAR}"], [f"x\n{CLEAR}"], ["report", f"{CLEAR}"]])
def test_an_argument_is_repeated_visibly(steelyard, arguments: list[str]) -> None:
    done = steelyard(*arguments)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert_one_sentence(done.stderr)


def test_spelling_keeps_spaces_and_shows_the_rest() -> None:
    assert escape_keeping_spaces("a  b\n\x1b\u202e") == r"a  b\n\x1b\u202e"
    joined = "\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e"  # a family, a Persian verb
    assert escape_keeping_spaces(f"{joined} a\u200db \u200d") == rf"{joined} a\u200db \u200d"
    assert escape_control_chars("a  b\n\x1b") == r"a b \x1b"


# Environment


def test_a_deleted_working_folder(shell: Shell) -> None:
    # The interpreter itself cannot start there when its search path is relative.
    sources = str(Path(steelyard_package.__file__).parents[1])
    done = shell("mkdir gone && cd gone && rmdir ../gone && $S judges", PYTHONPATH=sources)
    assert done.returncode == 1
    assert b"the working folder does not exist any more" in done.stderr
    assert_one_sentence(done.stderr.decode())


def test_a_dotenv_that_no_environment_can_hold(steelyard, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=a\0b\n")
    done = steelyard("judges")
    assert done.returncode == 2
    assert ".env" in done.stderr
    assert_one_sentence(done.stderr)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails when it is read")
def test_a_dotenv_that_cannot_be_read(steelyard, tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to("/proc/self/mem")
    done = steelyard("judges")
    assert done.returncode == 1
    assert "cannot be read (Input/output error)" in done.stderr
    assert_one_sentence(done.stderr)


QUICK = (
    "--help",
    "judges",
    "plan -j planted/tie -p vacuum",
    "measure -j planted/tie -p vacuum --out run",
    "measure -j planted/tie -p vacuum --out run --json",
)
EVERY = (*QUICK, "probes", "doctor -j planted/tie")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout(shell: Shell, tmp_path: Path) -> None:
    told = [
        run_command(tmp_path, *command.split(), code=1, out=io.TextIOWrapper(full)).err
        for command in QUICK
        for full in [io.BufferedWriter(io.FileIO("/dev/full", "w"))]
    ]
    done = shell(f"$S {QUICK[0]} > /dev/full")
    assert done.returncode == 1
    for text in (*told, done.stderr.decode()):
        assert "No space left on device" in text
        assert_one_sentence(text)


@pytest.mark.parametrize("command", QUICK[::3])
def test_a_closed_stdout_is_refused_before_anything_is_done(
    shell: Shell, tmp_path: Path, command: str
) -> None:
    done = shell(f"$S {command} >&-")
    assert done.returncode == 1
    assert b"standard output is closed" in done.stderr
    assert_one_sentence(done.stderr.decode())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", QUICK[:2])
def test_a_reader_that_goes_away(tmp_path: Path, environment: dict[str, str], command: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [*PROGRAM, command], cwd=tmp_path, env=environment, stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (1, b"")


ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def printed_in(encoding: str, folder: Path, command: str) -> bytes:
    """What a command writes to an output with few characters."""
    written = io.BytesIO()
    written.close = lambda: None  # type: ignore[method-assign]  # read after the stream has ended
    run_command(folder, *command.split(), out=io.TextIOWrapper(written, encoding=encoding))
    return written.getvalue()


def test_an_output_without_unicode(tmp_path: Path) -> None:
    """A real process with such an output follows below."""
    for command in EVERY:
        assert printed_in("ascii", tmp_path, command), command
    for form, encoding in (("md", "ascii"), ("html", "latin-1")):
        assert b"planted/tie" in printed_in(encoding, tmp_path, f"report run --format {form}")


def test_characters_an_output_does_not_know_keep_their_meaning_and_a_closed_stderr_does_no_harm(
    shell: Shell, tmp_path: Path
) -> None:
    done = shell("$S measure -j planted/tie -p vacuum --out run 2>&-", **ASCII)
    assert done.returncode == 0
    assert b"Judge Datasheet" in done.stdout
    assert done.stdout.isascii()
    measured(study_of({"judges": ["planted/probit"], "probes": ["ladder"]}), tmp_path / "climbed")
    full = printed_in("ascii", tmp_path, "report climbed --full")
    assert re.search(rb"\[-0\.\d+, \+0\.\d+\]", full)


def test_sentences_that_are_printed_as_they_are_keep_their_meaning_too() -> None:
    """Tables are spelt for their output; what is echoed has its characters replaced by the stream."""
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="latin-1") as stdout, contextlib.redirect_stdout(stdout):
        prepare_streams()
        click.echo("−0.3 ≤ κ ± 0.1 → 5 · √2 … ☃")
        stdout.flush()
        assert written.getvalue().decode("latin-1") == "-0.3 <= kappa ± 0.1 -> 5 · sqrt2 ... ?\n"


def test_the_printed_selftest_keeps_its_meaning_where_there_is_no_unicode() -> None:
    """As the page shows it, which another test holds against the command."""
    prepare_streams()
    page = (ROOT / "docs" / "guides" / "teach-with-planted-judges.md").read_text(encoding="utf-8")
    shown = page.partition("$ steelyard selftest\n")[2].partition("```")[0]
    plain = shown.encode("ascii", TRANSLITERATE).decode("ascii")
    assert "target sensitivity D1 " in plain
    assert re.search(r"0\.\d+-0\.\d+", plain)
    assert "?" not in plain.replace(plain.splitlines()[1], "")


# Engines


@pytest.mark.parametrize("name", ["moon", "local:here", ""])
def test_engines(steelyard, name: str) -> None:
    done = steelyard("measure", "-j", "planted/tie", "--engine", name)
    assert done.returncode == 2
    assert f"found '{name}', expected 'local', 'ray' or 'ray:ADDRESS'" in done.stderr


# Numbers


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("timeout=nan", "a number above 0"),
        ("backoff=inf", "a number of at least 0"),
        ("budget=nan", "a number of at least 0"),
        ("concurrency=0", "a whole number of at least 1"),
        ("attempts=1.5", "a whole number of at least 1"),
        ("replicates=nan", "a whole number of at least 1"),
    ],
)
def test_a_number_that_makes_no_sense_is_exit_2(steelyard, given: str, expected: str) -> None:
    done = steelyard("measure", "-j", "planted/tie", "-p", "vacuum", f"--{given}")
    assert done.returncode == 2
    name, _, value = given.partition("=")
    assert f"steelyard: --{name}: found '{value}', expected {expected}; see `" in done.stderr
    assert_one_sentence(done.stderr)


@pytest.mark.parametrize("value", ["nan", "inf", "1e999", "-inf", "-1", "many"])
def test_ranges_of_numbers_are_finite(value: str) -> None:
    with pytest.raises(click.BadParameter, match=f"^found '{value}', expected a number of at least 0$"):
        NOT_NEGATIVE.convert(value, None, None)


def test_zero_is_accepted_only_where_it_makes_sense() -> None:
    assert NOT_NEGATIVE.convert("0", None, None) == 0
    with pytest.raises(click.BadParameter, match=r"^found '0', expected a number above 0$"):
        POSITIVE.convert("0", None, None)


def test_calls_of_a_run_agree_in_number(steelyard) -> None:
    with ScriptedServer(wins("tie"), fails(400, "no")) as server:
        judge = f"openai/x?base_url={server.url}"
        done = steelyard("measure", "-j", judge, "-p", "vacuum", "--out", "run", *FAST)
    assert "\n12 calls in this run, 11 of them failed." in done.stdout
    assert describe_calls(RunSession(1)) == "1 call in this run."
    assert describe_calls(RunSession(2)) == "2 calls in this run."


# Help


def test_help_names_only_what_works(steelyard) -> None:
    listed = steelyard("--help").stdout.partition("\nStart:\n")[2]
    names = re.findall(r"^  (\S+)  ", listed, re.MULTILINE)
    assert {*names} == {name.partition(" ")[0] for name in COMMANDS}
    for name in names:
        assert steelyard(name, "--help").returncode == 0, name


@pytest.mark.parametrize("command", ["measure", "plan"])
def test_help_fits_80_columns_and_every_option_begins_a_line(steelyard, command: str) -> None:
    text = steelyard(command, "--help", COLUMNS="80").stdout
    assert max(map(len, text.splitlines())) <= 80
    options = text.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    assert all(re.match(r"  -\S.*  \S|  {20}", line) for line in options)
    assert "environment variables, e.g. STEELYARD_PROFILE=standard." in " ".join(text.split())
    for default in ("[quick]", "[1]", "[7]", "[16]", "[120]", "[6]", "[0.5]", "[local]"):
        assert default in text


def test_no_arguments_show_the_help(steelyard) -> None:
    done = steelyard()
    assert "Usage: steelyard" in done.stdout + done.stderr
