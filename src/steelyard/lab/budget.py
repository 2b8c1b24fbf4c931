"""Money: what is spent, what is in flight, what may still be started."""

from __future__ import annotations

from steelyard.lab.prices import Price
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial

EXPECTED_ANSWER_TOKENS = 40


class Budget:
    """A limit on the sum of what is spent and what calls in flight are expected to cost."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0

    def reserve(self, price: Price | None, trial: Trial) -> float | None:
        """Set money aside for a call; None when the limit does not allow it."""
        characters = sum(len(message.content) for message in trial.messages)
        expected = 0.0 if price is None else price.dollars(characters // 4, EXPECTED_ANSWER_TOKENS)
        if self.limit is not None and expected > 0 and self.spent + self._reserved + expected > self.limit:
            return None
        self._reserved += expected
        return expected

    def release(self, reserved: float) -> None:
        """Give a reservation back when its call has ended."""
        self._reserved -= reserved

    def spend(self, price: Price | None, reply: Reply) -> float:
        """Count what a reply cost."""
        dollars = cost(price, reply)
        self.spent += dollars
        return dollars


def cost(price: Price | None, reply: Reply) -> float:
    """Dollars for one reply; 0 where no price is known."""
    return 0.0 if price is None else price.dollars(reply.usage.input_tokens, reply.usage.output_tokens)
