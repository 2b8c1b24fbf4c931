"""A function's code, known by its text alone: a plan runs no line of a file that somebody else wrote."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from symtable import Function, SymbolTable, symtable
from typing import Any

from steelyard.core.foreign_code import file_of, may_run_code
from steelyard.errors import ConfigError


def may_run(address: str) -> bool:
    """Whether a function may be imported; one that was handed over in this session is there already."""
    return may_run_code() or ":" not in address


def text_of(address: str) -> tuple[str, list[Any]] | None:
    """Source and defaults of a function by its text; None where that would not be all of it.

    A function at the top of a file, without decorators and with plain defaults, that names nothing of its
    module and imports nothing, is known by its text.
    """
    place, _, name = address.rpartition(":")
    file = file_of(address)
    if file is None or not file.endswith(".py"):
        return None
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = [node for node in ast.parse(text).body if getattr(node, "name", None) == name]
        node = found[-1] if found else None
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.decorator_list:
            return None
        if _globals(symtable(text, file, "exec"), name) - vars(builtins).keys() or any(_imports(node)):
            return None
        positional = tuple(map(ast.literal_eval, node.args.defaults)) or None
        by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        named = {one.arg: ast.literal_eval(value) for one, value in by_name if value is not None} or None
        lines = [f"{line}\n" for line in text.splitlines()]
        return "".join(inspect.getblock(lines[node.lineno - 1 :])), [positional, named]
    except FileNotFoundError as error:
        raise ConfigError(f"judge python/{address}: no file {place}; correct the path.") from error
    except (OSError, SyntaxError, ValueError):
        return None


def _imports(function: ast.AST) -> Iterator[str]:
    """Modules that a function imports when it is called, but for those of Python."""
    for node in ast.walk(function):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.partition(".")[0] not in sys.stdlib_module_names)


def _globals(table: SymbolTable, name: str | None = None) -> set[str]:
    """Names that a function, and those inside it, take from its module; of all functions without a name."""
    inner = [child for child in table.get_children() if name is None or child.get_name() == name]
    own = set(table.get_globals()) if isinstance(table, Function) else set()
    return own.union(*map(_globals, inner))
