"""Commands that run inside this process, or in one that is forked from a process that has imported them."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.cli.main import main


@dataclass(frozen=True)
class Done:
    """Exit code and streams."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The estimates of a datasheet that was printed as JSON."""
        return list(json.loads(self.out)["estimates"])


Command = Callable[..., Done]


@contextlib.contextmanager
def surroundings(folder: Path, texts: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    """A process that was started so; it is as before when the command has ended."""
    kept, meant, argv = dict(os.environ), dict(environment), sys.argv
    with contextlib.chdir(folder):
        try:
            os.environ.clear()
            os.environ.update(meant)
            sys.argv = texts
            yield
        finally:
            sys.argv = argv
            os.environ.clear()
            os.environ.update(kept)


def run_command(
    folder: Path, *arguments: object, code: int = 0, out: io.TextIOWrapper | None = None, **variables: str
) -> Done:
    """Run the command in a folder, for fixtures that serve several tests; it has to end with the code.

    Its standard output may be a stream of the caller's, which is then closed.
    """
    printed, errors = io.BytesIO(), io.BytesIO()
    texts = ["steelyard", *map(str, arguments)]
    ended = 0
    with (
        surroundings(folder, texts, {**os.environ, **variables}),
        out or io.TextIOWrapper(printed, encoding="utf-8") as stdout,
        io.TextIOWrapper(errors, encoding="utf-8") as stderr,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as stop:
            ended = int(stop.code or 0)
        stdout.flush()
        stderr.flush()
        done = Done(ended, printed.getvalue().decode(), errors.getvalue().decode())
    assert done.code == code, done.err
    return done


_FORKS = multiprocessing.get_context("forkserver")
_NEEDLESS = ("steelyard.pytest_plugin", "steelyard.inspect_logs", "steelyard.__main__")


class StartedCommand:
    """A real process with the command in it, to be killed; its start costs no imports.

    It is forked from a process that has loaded what the tests have loaded. It can write no file beyond
    `largest` bytes, where that is given. Its streams are files, or a terminal of the caller's.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        folder: Path,
        environment: Mapping[str, str],
        largest: int | None = None,
        terminal: str | None = None,
    ) -> None:
        loaded = [name for name in sys.modules if name.startswith("steelyard.")]
        _FORKS.set_forkserver_preload([name for name in loaded if not name.startswith(_NEEDLESS)])
        self._streams = [] if terminal else [Path(tempfile.mkstemp()[1]) for _ in range(2)]
        texts = ["steelyard", *map(str, arguments)]
        self._process = _FORKS.Process(
            target=_in_fork, args=(folder, texts, dict(environment), self._streams or [terminal] * 2, largest)
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = 300) -> int:
        """The exit code, once the process has ended."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, "the command has not ended"
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once, where it has not ended."""
        self._process.kill()
        self.wait()

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Return once something holds, or the process has ended."""
        while not reached() and self.returncode is None:
            self._process.join(0.01)

    def first_lines(self, count: int = 1) -> list[str]:
        """So many lines of its standard output, once they are written or it has ended."""

        def text() -> str:
            return self._streams[0].read_text(encoding="utf-8")

        self.wait_until(lambda: text().count("\n") >= count)
        return text().splitlines()[:count]

    @property
    def errors(self) -> str:
        """What it wrote to its standard error so far."""
        return self._streams[1].read_text(encoding="utf-8")

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """What it wrote to its streams until it ended."""
        self.wait(timeout)
        out, err = (path.read_text(encoding="utf-8") for path in self._streams)
        return out, err

    def __del__(self) -> None:
        for path in self._streams:
            path.unlink(missing_ok=True)


def run_forked(
    arguments: Sequence[object], folder: Path, environment: Mapping[str, str], largest: int | None = None
) -> Done:
    """Run the command in such a process to its end."""
    started = StartedCommand(arguments, folder, environment, largest)
    out, err = started.communicate()
    return Done(started.wait(), out, err)


def _in_fork(
    folder: Path,
    texts: list[str],
    environment: dict[str, str],
    streams: Sequence[Path | str],
    largest: int | None,
) -> None:
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    with surroundings(folder, texts, environment):
        main()
