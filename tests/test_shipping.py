"""What is shipped: the sdist, the wheel that it makes, and the command that the wheel installs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from steelyard.version import __version__

pytest.importorskip("hatchling", reason="of the extra dev")
ROOT = Path(__file__).parents[1]
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


def test_the_installed_command_runs_without_the_sources(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    words = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *words], check=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # of this environment
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env=given, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = run(str(python), "-c", "import steelyard; print(steelyard.__file__)")
    assert Path(place.strip()).is_relative_to(site)
    command = str(tmp_path / "env" / "bin" / "steelyard")
    assert __version__ in run(command, "--version")
    assert "none was made for this" in run(command, "demo")
