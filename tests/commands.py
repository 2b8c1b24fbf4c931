"""What a command that ran inside this process left behind; the fixture `command` runs one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
