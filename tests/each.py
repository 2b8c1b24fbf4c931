"""One test for many items: it goes through all of them and lists every fault."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def for_each(
    names: str | tuple[str, ...], cases: Iterable[Any], label: Callable[[Any], str] = str
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, in one test: items share its fixtures; `label` names those at fault."""
    several = not isinstance(names, str)
    keys = (names,) if isinstance(names, str) else names

    def decorate(test: Test) -> Test:
        def together(**fixtures: Any) -> None:
            faults = []
            for case in cases:
                given = dict(zip(keys, case if several else (case,), strict=True))
                try:
                    test(**fixtures, **given)
                except Exception as error:
                    faults.append(f"{label(case)}: {type(error).__name__}: {error}")
            assert not faults, "\n".join(faults)

        own = inspect.signature(test)
        left = [parameter for name, parameter in own.parameters.items() if name not in keys]
        together.__signature__ = own.replace(parameters=left)  # type: ignore[attr-defined]
        together.__name__, together.__doc__ = test.__name__, test.__doc__
        together.__module__ = test.__module__
        return together

    return decorate
