"""A server that refuses the first calls of a judge, all alike, refuses the judge: the rest is not sent.

So with an unknown model or a wrong key of which the server says only that the request is bad. A refusal that
names its item, such as a prompt that is too long, is no such case, and neither is one of a judge that has
replied before.
"""

from __future__ import annotations

from steelyard.core.text import pluralize
from steelyard.errors import CallsRefusedError, PermanentError
from steelyard.providers.provider import model_info
from steelyard.runner.preflight import PREFLIGHT_CALLS
from steelyard.trials.judge import Judge

BAD_REQUEST = "bad_request"


class Refusals:
    def __init__(self, judge: Judge, calls: int, has_answered: bool) -> None:
        """`calls` are all that may be made; user code that raises is the business of `preflight`."""
        self._judge = judge
        self._undecided = (
            calls > PREFLIGHT_CALLS and not has_answered and not model_info(judge.address).is_code
        )
        self._in_flight = 0
        self._kinds: list[tuple[str, int | None]] = []

    @property
    def allows(self) -> bool:
        """False while the calls that decide are all made and none has a reply."""
        return not self._undecided or self._in_flight + len(self._kinds) < PREFLIGHT_CALLS

    def begin(self) -> None:
        self._in_flight += 1

    def end(self) -> None:
        self._in_flight -= 1

    def record_reply(self) -> None:
        self._undecided = False

    def record(self, error: PermanentError) -> CallsRefusedError | None:
        if not self._undecided:
            return None
        self._kinds.append((error.reason, error.status))
        alike = len(set(self._kinds)) == 1
        self._undecided = alike and error.reason == BAD_REQUEST
        if not self._undecided or len(self._kinds) < PREFLIGHT_CALLS:
            return None
        calls = pluralize(len(self._kinds), "call")
        return CallsRefusedError(
            f"judge {self._judge.name}: stopped after {calls}, which the server refused alike; "
            f"the last: {str(error).rstrip('.')}"
        )
