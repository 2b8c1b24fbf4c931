from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import Command
from servers import Answer, Received, ScriptedServer, fails, wins
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.data_files import dumps
from steelyard.run_folder.run_facts import HIDDEN
from steelyard.run_folder.run_facts import _host as host

SECRETS = ("sk-key", "hush-extra", "hush-nested", "hush-query")


def answer(request: Received) -> Answer:
    """Refuses a seed, and every request without texts."""
    if "seed" in request.body:
        return fails(400, "Unsupported parameter", param="seed")
    blank = "House prompt:  or ?" in request.user
    return fails(400, "the context window is too small") if blank else wins("1")


@pytest.fixture
def sheet(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Datasheet:
    monkeypatch.setenv("STEELYARD_TEST_KEY", "sk-key")
    (tmp_path / "prompt.md").write_text(
        "House prompt: {{ first }} or {{ second }}? </pre><script>x</script>\n"
    )
    with ScriptedServer(answer) as server:
        judge = {
            "name": "house",
            "model": f"openai/tested?base_url={server.url}?version=hush-query&api_key_env=STEELYARD_TEST_KEY",
            "prompt": "prompt.md",
            "temperature": 0.3,
            "seed": 5,
            "extra": {"api_key": "hush-extra", "options": {"token": "hush-nested", "top_k": 7}, "top_p": 0.9},
        }
        study = {"judges": [judge, "planted/probit?s=1.5"], "probes": ["vacuum"]}
        (tmp_path / "study.yaml").write_text(json.dumps(study))
        done = command("measure", "study.yaml", "--no-preflight", "--out", "run", "--yes")
    assert done.code == 0, done.err
    return Datasheet.loads((tmp_path / "run" / "datasheet.json").read_text(encoding="utf-8"))


def test_the_card_tells_what_was_asked_how_and_where_and_never_a_secret(
    sheet: Datasheet, command: Command, tmp_path: Path
) -> None:
    house, planted = sheet.instruments
    assert (house.judge, house.temperature, house.seed, house.scale) == ("house", 0.3, 5, "pairwise")
    (prompt,) = [prompt for prompt in house.prompts if prompt.protocol == "base"]
    assert prompt.user.startswith("House prompt: {{ first }} or {{ second }}?")
    assert prompt.reader == "json (key: winner)"
    assert prompt.sent is not None
    assert prompt.sent.startswith("House prompt: ")
    assert "{{" not in prompt.sent
    assert house.server is not None
    assert house.server.startswith("127.0.0.1:")
    assert house.settings["top_p"] == "0.9"
    assert house.settings["api_key"] == HIDDEN
    assert house.settings["options"] == f"token: {HIDDEN}, top_k: 7"
    assert not planted.prompted
    assert planted.settings["s"] == "1.5"
    files = {
        name: (tmp_path / "run" / name).read_text(encoding="utf-8")
        for name in ("datasheet.md", "datasheet.html")
    }
    for name, text in files.items():
        assert "House prompt" in text, name
        assert not [secret for secret in SECRETS if secret in text], name
    assert not [secret for secret in SECRETS if secret in dumps(sheet)]
    assert "<script>x" not in files["datasheet.html"]

    service = sheet.run["instruments"]["house"]
    assert service["served"] == {"scripted-1": service["calls"]}
    assert service["refused"] == {"seed": service["calls"]}
    assert service["failed"] == {"context_overflow": 4}
    assert 0 <= service["latency_p50"] <= service["latency_p95"]
    assert "seed in" in files["datasheet.md"]
    assert "context\\_overflow in" in files["datasheet.md"]

    before = {name: (tmp_path / "run" / name).read_bytes() for name in ("datasheet.json", *files)}
    assert command("report", "run").code == 0
    assert {name: (tmp_path / "run" / name).read_bytes() for name in before} == before
    assert Datasheet.loads(dumps(sheet)).instruments == sheet.instruments


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
        ("https://me:hush@api.example.org/v1/hush?key=hush", "api.example.org"),
        (None, None),
        ("", None),
    ],
)
def test_of_an_address_host_and_port_are_shown(address: str | None, shown: str | None) -> None:
    assert host(address) == shown


def test_imported_verdicts_have_no_card(command: Command, tmp_path: Path) -> None:
    line = {"judge": "j", "probe": "position", "pair": "p", "kind": "natural", "first": "u", "answer": "1"}
    (tmp_path / "calls.jsonl").write_text(json.dumps(line) + "\n")
    assert command("import", "calls.jsonl", "--out", "run").code == 0
    body = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert "instruments" not in body
    assert 'id="instruments"' not in (tmp_path / "run" / "datasheet.html").read_text()
