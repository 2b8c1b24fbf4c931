"""The roles of a study as its run folder remembers them: every effective setting."""

from __future__ import annotations

from typing import Any

from steelyard.lab.authoring.roles import Roles
from steelyard.trials.judge import Judge


def settings_of(roles: Roles) -> dict[str, Any]:
    """Author and validator with every value in force, and the hash that tells them from others."""
    author = {
        **_model(roles.author),
        "temperature_cap": roles.temperature_cap,
        "attempts": roles.attempts,
        "exemplars": roles.exemplars,
        "off_target": roles.off_target,
        "similarity": roles.similarity_limit if roles.compared else "off",
        "embeddings": None if roles.embedder is None else roles.embedder.address,
    }
    fallback = None if roles.fallback is None else _model(roles.fallback)
    return {
        "author": author,
        "validator": {**_model(roles.validator), "fallback": fallback},
        "roles": roles.hash,
    }


def _model(model: Judge) -> dict[str, Any]:
    decoding = model.decoding
    return {
        "model": model.address,
        **model.options,
        "temperature": decoding.temperature,
        "max_tokens": decoding.max_tokens,
        "seed": decoding.seed,
        **({"extra": dict(decoding.extra)} if decoding.extra else {}),
    }
