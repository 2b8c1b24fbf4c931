"""Consent to what a study file does: its kinds, its memory, and whose address an address is."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

import steelyard as api
from commands import Command
from servers import ScriptedServer, says
from steelyard.errors import ConfigError
from steelyard.providers.provider import connect
from steelyard.study import study_files
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise
from steelyard.trials import prompt
from steelyard.trials.prompt import PromptTemplate

KEY = "sk-mine-0123456789abcdef"
ROWS = "q,a,l\n" + "".join(f"Why {n}?,Because {n}.,{n % 2}\n" for n in range(4))


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server():
    with ScriptedServer(says('{"score": 1}')) as serving:
        yield serving


def study(folder: Path, server: ScriptedServer, **given: Any) -> Path:
    """A study in a folder of its own that reads a rubric beside that folder."""
    place = folder / "foreign"
    place.mkdir(exist_ok=True)
    (folder / "rubric.md").write_text("Right is what is true.")
    (place / "items.csv").write_text(ROWS)
    body = {
        "judges": [{"name": "m", "model": "openai/x", "base_url": server.url}],
        "task": {"rubric": "../rubric.md", "scale": "binary"},
        "data": {"path": "items.csv", "columns": {"request": "q", "response": "a", "label": "l"}},
        "probes": ["stochastic_stability"],
        **given,
    }
    (place / "study.yaml").write_text(json.dumps(body))
    return place / "study.yaml"


READS, SENDS = "reads ", "judge m sends the value of OPENAI_API_KEY to "


def test_files_and_keys_are_two_consents(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vendor's own key is one too: the study names the address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = study(tmp_path, server)
    for given, told in (
        ([], READS),
        (["--yes", "keys"], READS),
        (["--yes=files"], SENDS),
    ):
        monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / f"cache{len(given)}{told[:3]}"))
        done = command("measure", *given, path, "--out", "run")
        assert (done.code, told in done.err) == (2, True), done.err
        kind = "files" if told == READS else "keys"
        assert f"consent with --yes {kind} (in Python: consent={kind!r}) if that is meant." in done.err
        assert not server.requests
    for consent, told in (("keys", READS), ("files", SENDS)):
        monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / f"python {consent}"))
        with pytest.raises(ConfigError, match=told):
            api.measure(study=path, out="run", consent=consent)
    assert not server.requests
    done = command("measure", "--yes", path, "--out", "run")
    assert done.code == 0, done.err
    assert (done.err.count(READS), done.err.count(SENDS)) == (1, 1), done.err
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    "given", [["--yes", "files", "--yes", "keys"], ["--yes", "--json"], ["--yes=1"]], ids=str
)
def test_yes_is_written_in_several_ways(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, given
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert command("measure", study(tmp_path, server), *given, "--out", "run").code == 0


def test_yes_from_the_environment_and_an_unknown_one(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study(tmp_path, server)
    done = command("plan", path, "--yes=all")
    assert (done.code, "found 'all', expected files, keys, or nothing for both" in done.err) == (2, True)
    monkeypatch.setenv("STEELYARD_YES", "1")
    assert command("plan", path).code == 0


def test_consent_holds_for_the_hash_of_the_study_file(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = study(tmp_path, server)
    assert command("measure", path, "--yes", "--out", "run").code == 0
    done = command("measure", path, "--out", "run")
    assert (done.code, READS in done.err) == (0, False), done.err
    api.measure(study=path, out="run")
    path.write_text(path.read_text() + "\n")
    assert command("measure", path, "--out", "run").code == 2
    assert command("measure", path, "--yes", "files", "--out", "run").code == 2
    assert command("measure", path, "--yes", "keys", "--out", "run").code == 0, "each was given once"


def test_consent_is_to_what_the_study_did(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text reads another file where a link leads elsewhere, or where its folder lies elsewhere."""
    path = study(tmp_path, server, task={"rubric": "link.md", "scale": "binary"})
    link = path.parent / "link.md"
    link.symlink_to(tmp_path / "rubric.md")
    assert command("plan", path, "--yes", "files").code == 0
    assert command("plan", path).code == 0
    (tmp_path / "private.md").write_text("Mine.")
    link.unlink()
    link.symlink_to(tmp_path / "private.md")
    done = command("plan", path)
    assert (done.code, "private.md" in done.err) == (2, True)
    (tmp_path / "other").mkdir()
    path = study(tmp_path / "other", server)
    assert command("plan", study(tmp_path, server), "--yes", "files").code == 0
    assert command("plan", path).code == 2


def test_consent_of_somebody_else_counts_for_nothing(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that came with the study, or one whose key is another's."""
    path = study(tmp_path, server)
    assert command("plan", path, "--yes", "files").code == 0
    (tmp_path / "cache" / "stamp.key").write_bytes(bytes(32))
    assert command("plan", path).code == 2
    monkeypatch.setenv("STEELYARD_CACHE", "cache")
    assert command("plan", path, "--yes", "files").code == 0
    assert command("plan", path).code == 2


OWN = {
    "openai/x": True,
    "openai/x?base_url=https://api.openai.com/v1": True,
    "openai/x?base_url=https://api.openai.com:8443/other": True,
    "openai/x?base_url=http://api.openai.com/v1": False,
    "openai/x?base_url=https://api.openai.com.evil.example/v1": False,
    "openai/x?base_url=https://eu.api.openai.com/v1": False,
    "openai/x?base_url=http://127.0.0.1:8000/v1": False,
    "vllm/x": True,
    "azure/x?base_url=https://mine.openai.azure.com": True,
    "azure/x?base_url=https://mine.cognitiveservices.azure.com": True,
    "azure/x?base_url=https://mine.services.ai.azure.com": True,
    "azure/x?base_url=http://mine.openai.azure.com": False,
    "azure/x?base_url=https://evilvm.eastus.cloudapp.azure.com": False,
    "azure/x?base_url=https://a.b.openai.azure.com": False,
    "bedrock/x?region=us-east-1": True,
    "bedrock/x?base_url=https://bedrock-runtime.eu-west-1.amazonaws.com": True,
    "bedrock/x?base_url=https://ec2-203-0-113-5.compute-1.amazonaws.com": False,
    "bedrock/x?base_url=https://abc123.execute-api.us-east-1.amazonaws.com": False,
    "bedrock/x?base_url=http://bedrock-runtime.eu-west-1.amazonaws.com": False,
}


@pytest.mark.parametrize("judge", OWN)
def test_the_vendors_address_is_its_exact_host_over_https(
    judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "MINE"):
        monkeypatch.setenv(name, KEY)
    mark = "&" if "?" in judge else "?"
    for given in (judge, f"{judge}{mark}api_key_env=MINE"):
        place = connect(parse_judge(given, Path(), Pairwise())).destination  # type: ignore[attr-defined]
        if judge != "vllm/x" or given != judge:  # it has no key by itself
            assert (place.foreign_variable is None) == OWN[judge], place


def test_an_address_of_the_users_environment_is_the_users(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    (tmp_path / "rubric.md").write_text("")
    path = study(tmp_path, server, judges=["openai/x"])
    assert command("measure", path, "--yes", "files", "--out", "run").code == 0
    other = {"model": "openai/x", "name": "m", "base_url": f"{server.url}/elsewhere"}
    done = command("measure", study(tmp_path, server, judges=[other]), "--yes", "files", "--out", "other")
    assert (done.code, SENDS in done.err) == (2, True)
    monkeypatch.setenv("MINE", KEY)
    other = {"model": "openai/x", "name": "m", "api_key_env": "MINE"}
    done = command("measure", study(tmp_path, server, judges=[other]), "--yes", "files", "--out", "other")
    assert (done.code, SENDS.replace("OPENAI_API_KEY", "MINE") in done.err) == (2, True)


def test_without_a_key_there_is_nothing_to_consent_to(
    command: Command, tmp_path: Path, server: ScriptedServer
) -> None:
    assert command("measure", study(tmp_path, server), "--yes", "files", "--out", "run").code == 0
    assert "authorization" not in server.requests[0].headers


def test_models_that_a_caller_names_need_no_consent(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    mine = {"model": "openai/x", "base_url": server.url}
    path = study(tmp_path, server, author=mine, validator=mine, probes=["label_flip"])
    typed: dict[str, Any] = {"author": mine, "study": path, "consent": "files", "out": "run"}
    with pytest.raises(ConfigError, match="judge validator sends the value of OPENAI_API_KEY"):
        api.measure({**mine, "name": "m"}, **typed)
    with pytest.raises(api.SteelyardError) as stopped:  # the server writes no texts
        api.measure({**mine, "name": "m"}, validator=mine, **typed)
    assert "consent" not in str(stopped.value)
    assert server.requests


def test_a_judge_that_is_named_out_of_the_file_needs_the_consent_of_the_file(
    tmp_path: Path, command: Command, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is the user's, its address and key are the file's."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = study(tmp_path, server)
    done = command("measure", file, "-j", "m", "--yes=files", "--out", "run")
    assert done.code == 2
    assert SENDS in done.err
    assert server.requests == []


def test_a_key_of_a_dotenv_is_said(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\nMINE=mine-only-0123456\n")
    told = f"with the key in OPENAI_API_KEY of {tmp_path / '.env'}."
    judge = f"openai/x?base_url={server.url}"
    for words in (("measure",), ("plan",), ("measure", "--until", "verdict"), ("plan", "--until", "verdict")):
        done = command(*words, "-j", judge, "-p", "vacuum", "--out", words[-1])
        assert (done.out + done.err).count(told) == 1, done.out + done.err
    assert "in MINE of" in command("plan", "-j", f"{judge}&api_key_env=MINE", "-p", "vacuum").out
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert told not in command("measure", "-j", judge, "-p", "vacuum", "--out", "own").err


def test_plans_list_files_variables_and_addresses(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "pairs.yaml"
    (tmp_path / "pairs.md").write_text("{{ request }} {{ first }} {{ second }}")
    judge = {"name": "m", "model": "openai/x", "base_url": server.url, "prompt": "pairs.md"}
    path.write_text(json.dumps({"judges": [judge], "probes": ["vacuum"]}))
    place, reads = f"go to {server.url} with the key in OPENAI_API_KEY", "pairs.md (judge 'm': prompt)"
    for words in ((), ("--until", "verdict")):
        done = command("plan", path, *words)
        assert f"Calls of m {place}." in done.out
        assert f"Reads {tmp_path / reads}." in done.out
        body = json.loads(command("plan", path, *words, "--json").out)
        assert body["reads"] == [str(tmp_path / reads)]
        assert body["destinations"]["m"] == {"address": server.url, "key_variable": "OPENAI_API_KEY"}


def test_texts_and_files_are_bounded(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study(tmp_path, server, task={"rubric": "long.md", "scale": "binary"})
    with (path.parent / "long.md").open("wb") as long:
        long.truncate(2_000_000)
    done = command("plan", path)
    assert "task.rubric: long.md holds 2 MB, expected at most 1 MB; shorten it." in done.err
    assert done.code == 2
    judge = {"name": "m", "model": "openai/x", "base_url": server.url, "prompt": "long.md"}
    done = command("plan", study(tmp_path, server, judges=[judge], task={"rubric": "R.", "scale": "binary"}))
    assert "judge 'm': prompt: long.md holds 2 MB, expected at most 1 MB; shorten it." in done.err
    monkeypatch.setattr(study_files, "MAX_FILE", 10)
    with pytest.raises(ConfigError, match=r"data\.path: items\.csv holds 0 MB, expected at most 0 MB"):
        api.plan(study=study(tmp_path, server), consent="files")


MODULE = "from pathlib import Path\nPath('ran').touch()\n\n\ndef judge(request, response):\n    return 1\n"


@pytest.mark.parametrize("name", ["own", "package.own"])
def test_the_file_of_a_module_is_one_of_the_study(
    command: Command, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`python/MODULE:NAME` is found from the working folder, as `python/FILE.py:NAME` is."""
    file = tmp_path / f"{name.replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(MODULE)
    inside = {"task": {"rubric": "Right.", "scale": "binary"}, "judges": [f"python/{name}:judge"]}
    path = study(tmp_path, server, **inside)
    for words in (["plan"], ["measure", "--out", "run"]):
        done = command(*words, path)
        assert (done.code, f"{file} (judge 'python/{name}:judge': model" in done.err) == (2, True), done.err
    assert not (tmp_path / "ran").exists()
    top = tmp_path / (name.partition(".")[0] if "." in name else f"{name}.py")
    top.rename(path.parent / top.name)
    monkeypatch.syspath_prepend(path.parent)
    done = command("plan", path)
    assert (done.code, f"{name.replace('.', '/')}.py (judge" in done.out) == (0, True), done.err


@pytest.mark.parametrize("judge", ["python/os:rename", "python/posix:rename", "python/shutil:copyfile"])
def test_no_installed_function_is_called_unasked(
    command: Command, tmp_path: Path, server: ScriptedServer, judge: str
) -> None:
    """With the texts of the study as its arguments, `os.rename` moves files."""
    inside = {"task": {"rubric": "Right.", "scale": "binary"}, "judges": [judge]}
    path = study(tmp_path, server, **inside)
    done = command("measure", path, "--out", "run")
    assert (done.code, f"(judge '{judge}': model" in done.err) == (2, True), done.err
    assert not (tmp_path / "run").exists()


def test_files_that_a_promptfoo_configuration_names_are_asked_about(
    command: Command, tmp_path: Path, server: ScriptedServer
) -> None:
    inside: dict[str, Any] = {"task": {"rubric": "Right.", "scale": "binary"}}
    path = study(tmp_path, server, judges=["promptfoo/foreign/config.yaml"], **inside)
    secret = tmp_path / "secret.txt"
    secret.write_text("mine")
    rubric = {"type": "llm-rubric", "value": "file://../secret.txt"}
    for grader, asserted, names in (
        ("openai:chat:gpt-4o", rubric, "../secret.txt"),
        ("openai:chat:gpt-4o", {**rubric, "value": f"file://{secret}"}, "secret.txt"),
        ("file://../grader.js", {**rubric, "value": "Right?"}, "grader.js"),
        ("python:../grader.py:grade", {**rubric, "value": "Right?"}, "grader.py"),
        ("openai:chat:gpt-4o", {**rubric, "value": "x", "rubricPrompt": "file:///etc/hostname"}, "hostname"),
    ):
        test = {"options": {"provider": grader}, "assert": [asserted]}
        (path.parent / "config.yaml").write_text(json.dumps({"defaultTest": test}))
        for words in (("plan",), ("measure", "--out", "run")):
            done = command(*words, path)
            assert (done.code, Path(names).name in done.err, "--yes files" in done.err) == (2, True, True)
    (path.parent / "rubric.txt").write_text("Right?")
    test = {"options": {"provider": "openai:x"}, "assert": [{**rubric, "value": "file://rubric.txt"}]}
    (path.parent / "config.yaml").write_text(json.dumps({"defaultTest": test}))
    done = command("plan", path)
    assert (done.code, "foreign/rubric.txt (judge" in done.out) == (0, True), done.err


BOMBS = {
    "product": "{{ 'a' * 9999999999 }}",
    "computed": "{{ request * 999999999 }}",
    "list": "{{ ([request] * 9999999999) | length }}",
    "filter": "{{ request | center(9999999999) }}",
    "method": "{{ request.ljust(9999999999) }}",
    "form": "{{ '%9999999999s' % request }}",
    "doubling": "{% set n = namespace(x=request) %}"
    "{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "long": "{% for i in range(99999) %}{{ request }} and on and on and on{% endfor %}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_of_a_study_file_fills_no_memory(
    process, tmp_path: Path, server: ScriptedServer, bomb: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    judge = {"name": "m", "model": "openai/x", "base_url": server.url, "reader": "choice"}
    judge["prompt"] = BOMBS[bomb] + "{{ request }} {{ response }}"
    path = study(tmp_path, server, judges=[judge], task={"rubric": "Right.", "scale": "binary"})
    for words in (["plan"], ["measure", "--out", "run"]):
        done = process(*words, path)
        assert done.returncode == 2, done.stdout + done.stderr
        assert (
            "prompt: the template takes more than 500 MB, or makes a prompt that is 1 MB longer"
            in done.stderr
        )
    assert not server.requests
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak <= max(before, 900_000), "kilobytes"


SLOW = {
    "ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "texts": "{% for i in request * 999 %}{% for j in request * 999 %}{% for k in request * 999 %}"
    "{% endfor %}{% endfor %}{% endfor %}",
}


@pytest.mark.parametrize("bomb", SLOW)
def test_a_template_of_a_study_file_takes_no_minutes(
    command: Command, tmp_path: Path, server: ScriptedServer, bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt, "MAX_SECONDS", 0.5)
    judge = {"name": "m", "model": "openai/x", "base_url": server.url, "reader": "choice"}
    judge["prompt"] = SLOW[bomb] + "{{ request }} {{ response }}"
    path = study(tmp_path, server, judges=[judge], task={"rubric": "Right.", "scale": "binary"})
    for words in (["plan"], ["measure", "--out", "run"]):
        done = command(*words, path)
        assert done.code == 2, done.out + done.err
        assert "prompt: the template takes more than 0.5 s, expected a prompt for a judge" in done.err
    assert not server.requests


def test_a_power_in_a_template_is_bounded() -> None:
    assert PromptTemplate("{{ 2 ** 10 }}").render({}) == "1024"
    with pytest.raises(ConfigError, match="found a power of 387420489, expected at most 1000"):
        PromptTemplate("{{ 9 ** (9 ** 9) }}").render({})


def test_prompts_are_rendered_under_a_bound_that_is_put_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    template = PromptTemplate("{% for word in request.split() %}{{ word * 2 }} {% endfor %}{{ response }}")
    assert template.render({"request": "a b", "response": "c" * 2_000_000}) == "aa bb " + "c" * 2_000_000
    with pytest.raises(ConfigError, match="takes more than 500 MB"):
        PromptTemplate("{{ request * 10**10 }}").render({"request": "a"})
    assert resource.getrlimit(resource.RLIMIT_AS) == before
