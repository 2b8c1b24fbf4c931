"""How many cores the algebra of figures takes."""

from __future__ import annotations

import os

_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def algebra_on_one_core() -> None:
    """The matrices of figures are small, and threads for each cost more than they bring.

    To be said before numpy is imported, by commands that ask no model in this process; whoever says otherwise
    in the environment is heard.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ[_SETTINGS[0]] = "1"
