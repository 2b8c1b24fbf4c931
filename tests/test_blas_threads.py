"""Commands that only work out figures take one core for each matrix, unless somebody says otherwise."""

from __future__ import annotations

import os

import pytest

from steelyard.cli.main import return_large_arrays, use_one_blas_thread


@pytest.mark.parametrize("said", [{}, {"OPENBLAS_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "3"}])
def test_whoever_says_otherwise_is_heard(monkeypatch: pytest.MonkeyPatch, said: dict[str, str]) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, said.get(name, ""))
        if name not in said:
            monkeypatch.delenv(name)
    environment = said or {"OPENBLAS_NUM_THREADS": "1"}
    use_one_blas_thread()
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    assert {name: os.environ[name] for name in names if name in os.environ} == environment


def test_where_the_c_library_has_no_such_setting_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    return_large_arrays()
    monkeypatch.setattr("steelyard.cli.main.ctypes.CDLL", lambda _: object())
    return_large_arrays()
