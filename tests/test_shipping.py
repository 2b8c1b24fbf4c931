"""What is shipped: the sdist, the wheel that it makes, and the command that the wheel installs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from steelyard.version import __version__

pytest.importorskip("hatchling", reason="of the extra dev")
ROOT = Path(__file__).parents[1]
STEERS = ("PYTHONPATH", "PIP_", "PIPX_", "UV_", "XDG_", "VIRTUAL_ENV")
"""Variables that would lead an installer elsewhere."""
RUN_TIME = (
    "commands/demo_record.zip",
    "commands/demo_published.zip",
    "commands/gate/policies/default.yaml",
    "cli/skill.md",
    "datasheet/render/html/templates/page.html.j2",
    "guides/fix-a-judge.md",
    "py.typed",
    "stimuli/prompts/author.md",
    "tasks/catalog/bread.yaml",
    "web/static/view.js",
)


def build(target: str, source: Path, out: Path) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(words, cwd=source, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder / "built")) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"steelyard-{__version__}"


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from the source distribution, as an installer does."""
    return build("wheel", sdist, tmp_path_factory.mktemp("wheel"))


def test_the_sources_hold_package_and_documents_and_no_tests(sdist: Path) -> None:
    top = {path.name for path in sdist.iterdir()}
    assert top >= {"src", "docs", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO"}
    assert not top & {"tests", "benchmarks", ".venv", "dist"}


def test_the_wheel_holds_what_the_program_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"steelyard/{name}" for name in RUN_TIME} <= names
    info = f"steelyard-{__version__}.dist-info/"
    assert {name for name in names if not name.startswith(("steelyard/", info))} == set()
    held = {name.removeprefix("steelyard/") for name in names if name.startswith("steelyard/")}
    package = ROOT / "src" / "steelyard"
    files = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == files | {"guides/fix-a-judge.md"}


@dataclass(frozen=True)
class Stranger:
    """Somebody with an empty home and an index on disk that has the dependencies and no more."""

    home: Path
    index: Path

    def run(self, *words: str | Path) -> str:
        offline = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(self.index)}
        offline |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), "PIP_CONFIG_FILE": os.devnull}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(STEERS)}
        done = subprocess.run(
            words,
            cwd=self.home,
            env={**kept, **offline, "HOME": str(self.home), "UV_PYTHON_DOWNLOADS": "never"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def stranger(index: Path, tmp_path: Path) -> Stranger:
    home = tmp_path / "home"
    home.mkdir()
    return Stranger(home, index)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel for each requirement of build and run that stands for the package of this environment."""
    folder = tmp_path_factory.mktemp("index")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for requirement in (*project["build-system"]["requires"], *project["project"]["dependencies"]):
        (name,) = re.findall(r"^[\w-]+", requirement)
        _write_stand_in(folder, name, metadata.version(name))
    return folder


def _write_stand_in(folder: Path, name: str, version: str) -> None:
    stem = f"{name.replace('-', '_')}-{version}"
    files = {
        f"{name}.pth": sysconfig.get_path("purelib"),
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any",
    }
    record = f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, record: "\n".join(f"{path},," for path in (*files, record))}.items():
            archive.writestr(path, text + "\n")


def tool(name: str) -> str:
    """A tool of this environment, or else of the machine."""
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    return shutil.which(name, path=path) or pytest.skip(f"{name} is not installed")


def install(installer: str, source: Path, stranger: Stranger) -> list[str]:
    """The command that a reader types afterwards."""
    python = ("--python", sys.executable)
    if installer == "uvx":
        started = tool("uvx"), *python, "--from", str(source)
        return [*started, "steelyard"]
    if installer == "pip":
        venv.create(stranger.home / "env", symlinks=True)
        pip = (sys.executable, "-m", "pip", "--python", stranger.home / "env" / "bin" / "python")
        stranger.run(*pip, "install", "--quiet", "--disable-pip-version-check", source)
        return [str(stranger.home / "env" / "bin" / "steelyard")]
    first, *words = installer.split()
    stranger.run(tool(first), *words, "install", *python, source)
    return [str(stranger.home / ".local" / "bin" / "steelyard")]


@pytest.mark.parametrize(
    ("installer", "form"),
    [
        *(("pip", "checkout"), ("pip", "wheel"), ("pipx", "checkout"), ("pipx", "wheel")),
        *(("uv tool", "checkout"), ("uvx", "wheel")),
    ],
)
def test_a_stranger_installs_it_and_sees_the_demo(
    installer: str, form: str, sdist: Path, wheel: Path, stranger: Stranger
) -> None:
    """The sdist is what a checkout holds without its tests."""
    command = install(installer, sdist if form == "checkout" else wheel, stranger)
    assert "none was made for this" in stranger.run(*command, "demo")
