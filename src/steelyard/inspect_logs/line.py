"""A connection to a judge that calls share while any of them is under way.

Inspect tells nobody when it has scored its last sample, so that the last call hangs up.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.limits import RunLimits
from steelyard.runner.prime_provider import prime_provider
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial


class Line:
    """One judge's provider, open while somebody is inside; `async with` enters."""

    def __init__(self, judge: Judge) -> None:
        """Nothing is opened before the first call."""
        self._judge = judge
        self._inside = 0
        self._opening: asyncio.Future[Provider] | None = None
        self._places = asyncio.Semaphore()

    async def __aenter__(self) -> Self:
        if not self._inside:
            alone = model_info(self._judge.address).sequential
            self._places = asyncio.Semaphore(1 if alone else RunLimits().concurrency)
            self._opening = asyncio.ensure_future(_opened(self._judge))
        self._inside += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside -= 1
        opening = self._opening
        if self._inside or opening is None:
            return
        self._opening = None
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            await opening.result().close()
        else:
            opening.cancel()

    async def ask(self, trial: Trial) -> Reply:
        """One call, once there is a place for it."""
        assert self._opening is not None
        provider = await asyncio.shield(self._opening)
        prime_provider(provider, [trial])
        async with self._places:
            return await provider.ask(trial.presentation())


async def _opened(judge: Judge) -> Provider:
    provider = connect(judge)
    await provider.open()
    return provider
