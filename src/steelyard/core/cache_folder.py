"""Where files of this user are cached: weights of the embedded model, the key that signs, and consents."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.errors import ConfigError


def cache_folder() -> Path:
    if chosen := os.environ.get("STEELYARD_CACHE"):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise ConfigError(
                f"STEELYARD_CACHE: {chosen} is in the home of an unknown user; set it to a folder."
            ) from error
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("steelyard", appauthor=False))
