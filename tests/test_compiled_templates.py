"""Compiled templates are kept beside their sources and never decide what a page says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from example_datasheet import example
from steelyard.datasheet.render.html import document, page


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of compiled templates; each rendering starts as a new process would."""
    folder = tmp_path / "__pycache__"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(
        document,
        "CompiledTemplates",
        lambda _, made=document.CompiledTemplates: made(str(folder)),
    )
    return folder


def rendered() -> str:
    document._environment.cache_clear()
    try:
        return page.render(example())
    finally:
        document._environment.cache_clear()


@pytest.mark.slow
def test_compiled_templates_say_the_same_and_damaged_ones_are_compiled_again(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rendered()
    files = sorted(kept.iterdir())
    assert len(files) >= 3
    with monkeypatch.context() as patch:
        patch.setattr("jinja2.Environment._parse", lambda *_: pytest.fail("a template was compiled again"))
        assert rendered() == first
    for number, file in enumerate(files):
        file.write_bytes((b"", b"j2", b"\0" * 4096)[number % 3])
    assert rendered() == first
    shutil.rmtree(kept)
    kept.write_text("a file where the folder would be")
    assert rendered() == first


@pytest.mark.slow
def test_nothing_is_kept_where_python_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert "<html" in rendered()
    assert not kept.exists()
