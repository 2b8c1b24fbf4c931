"""What the embedded judges are: a prompted one, and one that compares likelihoods; their prompts.

Prompts are short, and what trials share comes first, because reading is what costs. The protocols of a pair
differ in their last line only: another question about a pair that was read for the base question costs a few
tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from steelyard.core.registry import Spec
from steelyard.providers.embedded.weights import verify_weights
from steelyard.providers.options import Options, Settings
from steelyard.providers.provider_info import DoctorCheck, JudgeExample, ProviderInfo
from steelyard.tasks.scale import Pairwise, Scale
from steelyard.trials.judge import Protocol

_PAIR = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Answer 1:
{{ fence }}
{{ first }}
{{ fence }}
Answer 2:
{{ fence }}
{{ second }}
{{ fence }}
"""

EMBEDDED_PROMPT = _PAIR + "Which is better? Reply 1, 2 or tie."

EMBEDDED_STRICT_PROMPT = (
    _PAIR + "Which is better? Unless one is clearly better, reply tie. Reply 1, 2 or tie."
)

EMBEDDED_GRADED = {
    "lenient": _PAIR + "Which is better, if only a little? Reply 1, 2 or tie.",
    "base": EMBEDDED_PROMPT,
    "strict": EMBEDDED_STRICT_PROMPT,
    "strictest": _PAIR + "Which is better? Unless one is far better, reply tie. Reply 1, 2 or tie.",
}

EMBEDDED_SCORE_PROMPT = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Response:
{{ fence }}
{{ response }}
{{ fence }}
Give the score, a whole number from {{ low }} to {{ high }}. Reply with the number only."""


PROMPTED = "smollm2-135m"
LIKELIHOOD = "smollm2-135m-likelihood"

LIKELIHOOD_MARGIN = 2.0
LIKELIHOOD_STRICT_MARGIN = 8.0
"""Margins in nats within which a likelihood judge calls a tie."""

LIKELIHOOD_TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A likelihood judge is not prompted; this is the record of what it compared."""

Margin = Annotated[float, Field(ge=0)]
"""Nats."""


class LikelihoodOptions(Options):
    owner = "likelihood judges"

    margin: Margin | None = Field(default=None, exclude=True)
    relative: bool | None = None
    """False scores a text by its probability alone, without that of the text by itself."""


class LikelihoodSettings(Settings):
    owner = "likelihood judges"

    margin: Margin | None = None

    def applied(self, protocol: Protocol) -> Protocol:
        """The margin belongs to the reader, which sees both scores."""
        return protocol if self.margin is None else replace(protocol, reader=_reader(self.margin))


def _reader(margin: float) -> Spec:
    return Spec("likelihood", {"margin": margin})


def _margins(scale: Scale, options: LikelihoodOptions) -> Mapping[str, Protocol]:
    del scale
    base = LIKELIHOOD_MARGIN if options.margin is None else options.margin
    strict = max(LIKELIHOOD_STRICT_MARGIN, 4 * base)
    margins = {"lenient": base / 4, "base": base, "strict": strict, "strictest": 2 * strict}
    return {name: Protocol(LIKELIHOOD_TEMPLATE, reader=_reader(margin)) for name, margin in margins.items()}


def _choices(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    del options
    prompts = EMBEDDED_GRADED if isinstance(scale, Pairwise) else {"base": EMBEDDED_SCORE_PROMPT}
    return {name: Protocol(text, reader=Spec("choice")) for name, text in prompts.items()}


def _weights() -> Iterator[DoctorCheck]:
    subject, state = "embedded weights", verify_weights()
    if not state.present:
        yield DoctorCheck(subject, "absent", f"fetched at first use into {state.path.parent}")
    elif not state.intact:
        yield DoctorCheck(subject, "broken", f"{state.path} has the wrong hash; delete it")
    else:
        yield DoctorCheck(subject, "ok", str(state.path))


CONTEXT = 1536
"""Tokens of a run of an agent that it is given: it could read more, and would take minutes for each."""

_ANY = ProviderInfo(
    free=True,
    can_choose=False,
    sequential=True,
    can_write=False,
    seconds_per_call=0.8,
    options=Options,
    protocols=_choices,
    checks=_weights,
)

EMBEDDED = replace(
    _ANY,
    models={
        PROMPTED: replace(
            _ANY,
            context=CONTEXT,
            examples=(
                JudgeExample(
                    f"embedded/{PROMPTED}",
                    "a real 135M-parameter model in this process, prompted for 1, 2 or tie",
                ),
            ),
        ),
        LIKELIHOOD: replace(
            _ANY,
            uses_prompt=False,
            can_score=False,
            options=LikelihoodOptions,
            settings=LikelihoodSettings,
            protocols=_margins,
            examples=(
                JudgeExample(
                    f"embedded/{LIKELIHOOD}",
                    "the same model, comparing log P(answer | request) of the two answers",
                ),
            ),
        ),
    },
)
