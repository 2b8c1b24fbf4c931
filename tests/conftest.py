from __future__ import annotations

import ast
import contextlib
import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from authoring_server import Cast
from commands import Command, Done, surroundings
from docs_pages import ROOT
from installed_packages import packages
from servers import ScriptedServer
from steelyard.cli.main import main

# A busy machine fails no test, and a test says the same twice; `make calibrate` draws ten times as many.
settings.register_profile("steelyard", deadline=None, database=None, derandomize=True, max_examples=40)
settings.register_profile("quick", settings.get_profile("steelyard"), max_examples=8)
settings.register_profile("thorough", settings.get_profile("steelyard"), max_examples=400)
settings.load_profile("steelyard")


class OneProcessPerModule(LoadScopeScheduling):
    """Tests of a module that makes something once for all of them run in one process, others anywhere.

    Marks of groups do not reach this scheduler under every version of pytest; the files do.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if makes_something_once(module) else nodeid

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a scope with its last test: after each test the scheduler goes through all it knows."""
        super().mark_test_complete(node, item_index, duration)
        nodeid = self.registered_collections[node][item_index]
        scopes, scope = self.assigned_work[node], self._split_scope(nodeid)
        if all(scopes[scope].values()):
            del scopes[scope]


@cache
def makes_something_once(module: str) -> bool:
    """Whether the file has a fixture for all its tests, or remembers what it has computed."""
    text = (ROOT / module).read_text(encoding="utf-8")
    return '@pytest.fixture(scope="module")' in text or "\n@cache\n" in text


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneProcessPerModule:
    """How tests are dealt to processes."""
    return OneProcessPerModule(config, log)


SLOW = re.compile(
    r"\b(command|process|inside|steelyard|server|browser|chromium|page|tab|recorded): "
    r"|\b(run_command|run_forked|StartedCommand|subprocess|multiprocessing|World|simulate\w*|judged_\w+|measure|REFITS)\b"
    r"|Server\b|pytest\.mark\.(embedded|slow)"
)
"""What stands in functions that run commands, servers, browsers or simulations."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make quick` takes the tests that call functions alone."""
    parser.addoption("--quick", action="store_true", help="no commands, servers, simulations")


def pytest_configure(config: pytest.Config) -> None:
    """Identities are tried on few examples while you write."""
    if config.getoption("quick"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Not even import a module of tests that are all slow."""
    if not config.getoption("quick") or not re.fullmatch(r"test_.*\.py", collection_path.name):
        return None
    names = re.findall(r"^def (test_\w+)", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    return True if set(names) <= slow_names(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick: tests that are slow by what they say, call or have as a fixture."""
    if not config.getoption("quick"):
        return
    ours = slow_names(ROOT / "tests" / "conftest.py")
    quick, slow = [], []
    for item in items:
        names = {getattr(item, "originalname", item.name), *getattr(item, "fixturenames", ())}
        (slow if names & (ours | slow_names(item.path)) else quick).append(item)
    config.hook.pytest_deselected(items=slow)
    items[:] = quick


@cache
def slow_names(path: Path) -> frozenset[str]:
    """Names of a module of tests that are slow, or rest on what is."""
    text = path.read_text(encoding="utf-8")
    lines, slow, parts = text.splitlines(), set[str](), dict[str, str]()
    for part in ast.parse(text).body:
        if isinstance(part, ast.ImportFrom) and part.module and not part.level:
            file = (ROOT / "tests" / part.module.replace(".", "/")).with_suffix(".py")
            slow |= {name.name for name in part.names} & (slow_names(file) if file.exists() else frozenset())
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min(line.lineno for line in (part, *part.decorator_list))
            parts[part.name] = "\n".join(lines[first - 1 : part.end_lineno])
    found = True
    while found:
        rests = re.compile(rf"\b({'|'.join(slow)})\b" if slow else "(?!)")
        found = {name for name, text in parts.items() if SLOW.search(text) or rests.search(text)} - slow
        slow |= found
    return frozenset(slow)


gc.disable()  # until all tests are collected: modules and tests live to the end


def pytest_collection_finish() -> None:
    """What was collected need not be looked at by the garbage collector again."""
    gc.freeze()
    gc.enable()


Steelyard = Callable[..., "subprocess.CompletedProcess[str]"]
Inside = Callable[[Sequence[object], Mapping[str, str]], "subprocess.CompletedProcess[str]"]


OURS = ("STEELYARD_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "AWS_", "AZURE_", "GITHUB_")
"""Beginnings of the variables that Steelyard reads."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A clean environment: no keys, no options, a folder of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(OURS) or name == "STEELYARD_CACHE"
    }
    return {**kept, "COLUMNS": "100", "NO_COLOR": "1"}


@pytest.fixture
def process(tmp_path: Path, environment: dict[str, str]) -> Steelyard:
    """Run the command in a process of its own: where its start, its end or what is installed matters."""

    def run(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, **extra},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Run the command from its arguments to its exit code, without the start of a process."""

    def run(arguments: Sequence[object], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        texts = ["steelyard", *map(str, arguments)]
        capsys.readouterr()
        with surroundings(tmp_path, texts, environment), pytest.raises(SystemExit) as stop:
            main()
        return subprocess.CompletedProcess(texts, int(stop.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def steelyard(environment: dict[str, str], inside: Inside) -> Steelyard:
    """Run the command in a clean environment; what lies on `PYTHONPATH` is installed for it."""

    def run(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
        with packages(extra["PYTHONPATH"]) if "PYTHONPATH" in extra else contextlib.nullcontext():
            return inside(arguments, {**environment, **extra})

    return run


@pytest.fixture
def command(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command in the environment of the test, which stands in the command's folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        done = inside(arguments, os.environ)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def recorded(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run folder of the record by its name, the test's own; all tests share what it costs to make it."""
    from record.folders import copy  # it imports tests, whose assertions pytest has to see first

    base = tmp_path_factory.getbasetemp()
    store = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "record"
    store.mkdir(exist_ok=True)
    return lambda name: copy(name, store, tmp_path)


@pytest.fixture
def cast() -> Cast:
    """The models of a study whose texts are written; a test may change what they do."""
    return Cast()


@pytest.fixture
def server(cast: Cast) -> Iterator[ScriptedServer]:
    """A server at which the cast answers."""
    with ScriptedServer(cast) as server:
        yield server
