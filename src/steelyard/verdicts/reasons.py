"""Why a reply could not be read."""

from __future__ import annotations

TRUNCATED = "truncated"
"""The token limit came before a complete answer."""
REFUSAL = "refusal"
"""The model refused, or the provider filtered the reply."""
EMPTY = "empty"
"""The reply is blank."""
NO_ANSWER = "no answer"
"""There is text, but no answer in the form that was asked for."""
AMBIGUOUS = "ambiguous"
"""Two different answers."""
OFF_SCALE = "not on the scale"
"""An answer that the scale does not admit."""
NO_LOGPROBS = "no logprobs"
"""The server sent no log-probabilities."""
NO_SCORES = "no scores"
"""The provider sent no pair of scores."""
REASONS = (TRUNCATED, REFUSAL, EMPTY, NO_ANSWER, AMBIGUOUS, OFF_SCALE, NO_LOGPROBS, NO_SCORES)
"""Every reason a reader gives."""
