"""Baseline judges beside every result, and the default judges where none is named."""

from __future__ import annotations

from steelyard.providers.planted.planted_judges import PLANTED, SeededOptions
from steelyard.tasks.scale import Pairwise, Scale
from steelyard.trials.judge import Judge

DEFAULT_JUDGES = ("embedded/smollm2-135m", "embedded/smollm2-135m-likelihood")
"""Judges of pairs where none is named."""
SCORE_JUDGES = ("embedded/smollm2-135m",)
"""Judges of single texts where none is named."""

BASELINES = ("coin", "first", "tie", "longest")
"""Dumb judges that stand beside every pairwise result."""
SCORE_BASELINES = ("constant", "random")
"""Dumb judges that stand beside every pointwise result."""

DUMMY_SCORER = "planted/constant"
"""Stands in for a judge of single texts where what is shown depends on none."""

EXAMPLE_MODEL = "openai/gpt-4o"
"""What to write where `provider/model` is expected."""
EXAMPLE_SERVER = "openai/NAME?base_url=…"
"""What to write where a model is expected that writes text."""

PAIRS = Pairwise()
"""The scale where none is named."""


def baseline_judges(seed: int, scale: Scale = PAIRS) -> list[Judge]:
    """Coin, always-first, always-tie and longest-wins; for single texts a constant and a random score."""
    names = BASELINES if isinstance(scale, Pairwise) else SCORE_BASELINES
    return [
        Judge(
            name=name,
            provider="planted",
            model=name,
            protocols=PLANTED.for_model(name).protocols(scale, PLANTED.for_model(name).options()),
            options=SeededOptions(seed=seed).stored(),
            baseline=True,
        )
        for name in names
    ]
