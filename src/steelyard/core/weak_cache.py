"""What is worked out of a thing once, and forgotten with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast
from weakref import WeakKeyDictionary, WeakSet

Thing = TypeVar("Thing")
Value = TypeVar("Value")


def remembered(make: Callable[[Thing], Value]) -> Callable[[Thing], Value]:
    """The function, with one value for each thing; things are told apart by what they are, not by content.

    Neither a thing nor what was made of it may change. The value may be the thing, but must not hold it.
    """
    known: WeakKeyDictionary[Thing, Value] = WeakKeyDictionary()
    itself: WeakSet[Thing] = WeakSet()

    @wraps(make)
    def value(thing: Thing) -> Value:
        if thing in itself:
            return cast(Value, thing)
        if thing not in known:
            made = make(thing)
            if cast(object, made) is thing:
                itself.add(thing)
                return made
            known[thing] = made
        return known[thing]

    return value
