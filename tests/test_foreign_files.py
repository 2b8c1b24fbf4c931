"""What a study file, a `.env` and an archive of somebody else may do, and what is said of it."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from commands import Command
from servers import ScriptedServer, wins
from steelyard.cli.output import open_link
from steelyard.core import dotenv, files
from steelyard.core.files import check_archive
from steelyard.core.foreign_code import without_code
from steelyard.errors import DataError
from steelyard.providers.function.code_hash import code_hash, text_of
from steelyard.providers.function.python_function import function_at
from steelyard.providers.provider import PROVIDERS, connect, provider_info
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import Pairwise

EVIL = """from pathlib import Path
Path('ran').write_text('x')


def judge(request, first, second, *, tie='tie'):
    return tie


def cue(text):
    return text + '!'
"""


def test_the_vendors_keys_are_those_that_providers_read() -> None:
    names = {name for provider in PROVIDERS.in_order() for name in provider_info(provider).environment}
    others = ("URL", "ENDPOINT", "VERSION", "REGION")
    assert {name for name in names if not any(word in name for word in others)} == dotenv.VENDOR_KEYS


def test_a_dotenv_supplies_keys_and_nothing_else(command: Command, tmp_path: Path, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "STEELYARD_JUDGE", "MINE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "evil.py").write_text(EVIL)
    lines = (
        "OPENAI_BASE_URL=http://127.0.0.1:1/v1",
        "STEELYARD_JUDGE=python/evil.py:judge",
        "MINE=mine-only",
    )
    (tmp_path / ".env").write_text("\n".join(("OPENAI_API_KEY=sk-of-the-file", *lines)))
    done = command("plan", "-j", "openai/gpt-4o-mini", "-j", "openai/m?api_key_env=MINE", "--json")
    assert done.code == 0, done.err
    assert "ignored OPENAI_BASE_URL, STEELYARD_JUDGE, MINE: a .env supplies keys alone" in done.err
    places = json.loads(done.out)["destinations"]
    assert places["openai/gpt-4o-mini"] == {
        "address": "https://api.openai.com/v1",
        "key_variable": "OPENAI_API_KEY",
    }
    assert dotenv.key_from("MINE") == "mine-only"
    assert not (tmp_path / "ran").exists()
    (tmp_path / ".env").unlink()
    assert command("judges").code == 0
    assert dotenv.key_from("MINE") == "", "a run without the file has none of its keys"


def test_the_environment_goes_before_a_dotenv(command: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MINE_KEY", "of the environment")
    (tmp_path / ".env").write_text("MINE_KEY=of the file\n")
    assert command("judges").code == 0
    assert dotenv.key_from("MINE_KEY") == "of the environment"


def test_a_plan_shows_address_and_key_and_runs_no_code(command: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "s.yaml").write_text(
        "judges: [python/evil.py:judge, openai/m, {model: openai/x, base_url: 'http://h.example/v1', "
        "api_key_env: MYPRIVATE_TOKEN}]\nprobes: [vacuum, {tradeoff: {cues: [{name: c, function: "
        "evil.py:cue}]}}]\n"
    )
    for words in (("plan",), ("measure", "--dry-run"), ("plan", "--until", "verdict")):
        done = command(*words, "s.yaml", "--out", "run")
        assert done.code == 0, done.err
        assert not (tmp_path / "ran").exists()
    done = command("plan", "s.yaml")
    assert "Calls of python/evil.py:judge run the Python code of python/evil.py:judge." in done.out
    assert (
        "Calls of openai/m go to https://api.openai.com/v1 with the key in OPENAI_API_KEY (not set)"
        in done.out
    )
    assert (
        "Calls of openai/x go to http://h.example/v1 with the key in MYPRIVATE_TOKEN (not set)." in done.out
    )


def test_a_function_has_the_same_hash_by_its_text(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    with without_code():
        by_text = parse_judge("python/evil.py:judge", tmp_path, Pairwise())
    assert not (tmp_path / "ran").exists()
    assert by_text.options["source"] == code_hash(function_at("evil.py:judge"))
    assert (tmp_path / "ran").exists()
    (tmp_path / "odd.py").write_text("judge = print\n\n\n@str\ndef other(request): ...\n")
    assert text_of("odd.py:judge") is text_of("odd.py:other") is text_of("absent.module:f") is None
    connect(by_text)


def thief(tmp_path: Path, server: ScriptedServer) -> str:
    judge = {"model": "openai/x", "base_url": server.url, "api_key_env": "MYPRIVATE_TOKEN"}
    (tmp_path / "thief.yaml").write_text(json.dumps({"judges": [judge], "probes": ["vacuum"]}))
    return "judge openai/x sends the value of MYPRIVATE_TOKEN to"


def test_a_study_file_sends_no_variable_elsewhere_unasked(
    command: Command, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("MYPRIVATE_TOKEN", "token-0123456789")
    with ScriptedServer(wins("tie")) as server:
        told = thief(tmp_path, server)
        for words in (("measure",), ("doctor",), ("measure", "--until", "verdict")):
            done = command(*words, "thief.yaml")
            assert (done.code, told in done.err, "--yes" in done.err) == (2, True, True)
        assert not server.requests
        done = command("measure", "thief.yaml", "--yes")
        assert done.code == 0, done.err
        assert f"calls of openai/x go to {server.url} with the key in MYPRIVATE_TOKEN." in done.err
        named = f"openai/x?base_url={server.url}&api_key_env=MYPRIVATE_TOKEN"
        assert command("measure", "-j", named, "-p", "vacuum", "--out", "own").code == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2)])
def test_on_a_terminal_the_user_is_asked(command, tmp_path: Path, monkeypatch, typed: str, code: int) -> None:
    import io

    terminal = io.StringIO(typed)
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setenv("MYPRIVATE_TOKEN", "token-0123456789")
    with ScriptedServer(wins("tie")) as server:
        told = thief(tmp_path, server)
        done = command("measure", "thief.yaml")
        assert (done.code, told in done.err) == (code, True)
        assert bool(server.requests) == (code == 0)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED", 2_000_000)
    log = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("header.json", "w") as part:
        part.write(b" " * 3_000_000)
    with pytest.raises(DataError, match="unpacks to 3 MB, expected at most 2 MB"):
        check_archive(log)
    with pytest.raises(DataError, match="unpacks to 3 MB"):
        read_table(log)
    body = bytearray(log.read_bytes())
    stated = body.rfind(b"PK\x01\x02") + 24  # the size that the directory of the archive states
    body[stated : stated + 4] = (1000).to_bytes(4, "little")
    log.write_bytes(body)
    with pytest.raises(DataError, match=r"header\.json is not what the archive states of it"):
        check_archive(log)
    small = tmp_path / "small.xlsx"
    with zipfile.ZipFile(small, "w") as archive:
        archive.writestr("a", "b")
    check_archive(small)


def test_a_value_that_stands_in_every_row_of_a_parquet_file_is_counted_in_every_row(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED", 2_000_000)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, rows in (("bomb", 250), ("sound", 150)):
        texts = arrow.array(["x" * 10_000]).take(arrow.array([0] * rows))
        parquet.write_table(arrow.table({"a": texts}), tmp_path / f"{name}.parquet", compression="zstd")
        assert (tmp_path / f"{name}.parquet").stat().st_size < 20_000
    with pytest.raises(DataError, match=r"bomb\.parquet: unpacks to .* MB, expected at most 2 MB"):
        read_table(tmp_path / "bomb.parquet")
    assert len(read_table(tmp_path / "sound.parquet").records) == 150


def test_a_listening_address_beyond_loopback_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    open_link("Showing 1 run", "http://127.0.0.1:1/", browser=False, host="0.0.0.0")
    told = "listening at 0.0.0.0: every machine that reaches this one can open the page"
    assert told in capsys.readouterr().err
    open_link("Showing 1 run", "http://127.0.0.1:1/", browser=False, host="127.0.0.1")
    assert capsys.readouterr().err == ""
