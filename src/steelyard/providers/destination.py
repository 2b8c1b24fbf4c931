"""The destination of a judge's calls: which address gets them, and the variable that holds its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from steelyard.core.dotenv import file_of_key, key_from


@dataclass(frozen=True)
class Destination:
    address: str
    """Where calls go, without a query; of code, the name of the function."""
    key_variables: tuple[str, ...] = ()
    """Variables that may hold the key; the first that is set is sent."""
    is_code: bool = False
    """The judge is a Python function: calls run its code."""
    is_own: bool = True
    """The address is the vendor's, or one that the user's environment names."""
    is_named: bool = False
    """The judge names the variable itself."""

    @property
    def key_variable(self) -> str | None:
        """The variable that is sent; the first of them where none is set."""
        return next(filter(key_from, self.key_variables), next(iter(self.key_variables), None))

    @property
    def foreign_variable(self) -> str | None:
        """The variable whose value the judge sends to an address that is not the vendor's."""
        variable = None if self.is_own else self.key_variable
        return variable if variable and (self.is_named or key_from(variable)) else None

    @property
    def text(self) -> str:
        """The end of a sentence: `calls …`."""
        if self.is_code:
            return f"run the Python code of {self.address}"
        if self.key_variable is None:
            return f"go to {self.address} without a key"
        found = f" of {file}" if (file := file_of_key(self.key_variable)) else ""
        unset = "" if key_from(self.key_variable) else " (not set)"
        return f"go to {self.address} with the key in {self.key_variable}{found}{unset}"


@runtime_checkable
class HasDestination(Protocol):
    """A provider that says where calls go; those without one stay in this process."""

    @property
    def destination(self) -> Destination:
        """Where calls go, and with which key."""
