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


def test_a_second_process_compiles_nothing_and_says_the_same(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rendered()
    assert any(kept.iterdir())
    monkeypatch.setattr("jinja2.Environment._parse", lambda *_: pytest.fail("a template was compiled again"))
    assert rendered() == first


def test_a_damaged_file_is_compiled_again_and_a_folder_that_cannot_be_written_does_no_harm(
    kept: Path,
) -> None:
    first = rendered()
    for content in (b"", b"j2", b"\0" * 4096):
        for file in kept.iterdir():
            file.write_bytes(content)
        assert rendered() == first, content
    shutil.rmtree(kept)
    kept.write_text("a file where the folder would be")
    assert rendered() == first


def test_nothing_is_kept_where_python_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert "<html" in rendered()
    assert not kept.exists()
