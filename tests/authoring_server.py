"""A server that plays author, validator, fallback validator and judge, told apart by the model's name.

Its world is small: a response is right (label 1) where it says `blue`, and earns one point for each planet
it names. The author it plays does as it is told unless a test makes it do otherwise.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from servers import Answer, Received, hang, says, sends
from steelyard.errors import DataError
from steelyard.runner.limits import RunLimits
from steelyard.study.role_config import parse_roles
from steelyard.study.roles import Roles
from steelyard.tasks.task import Binary, Item, Ordinal, Task
from steelyard.trials.builtin_prompts import parse_score_prompt

TASK = Task(
    "Decide whether the response is right about the sky.", "Right is who says that it is blue.", Binary()
)
PLANETS = ("mercury", "venus", "mars", "jupiter", "saturn")
ORDINAL_TASK = Task("Score the response.", "A point for every planet that is named.", Ordinal(1, 5))

CONCURRENCY = 4
QUICK = RunLimits(concurrency=CONCURRENCY, attempts=2, backoff=0.0)
WRITTEN = ("label_flip", "semantic_paraphrase", "verbosity_bias_long", "verbosity_bias_short")

GOALS = {
    "Rewrite the response below so that the rubric": "label_flip",
    "Say the response below in other words": "semantic_paraphrase",
    "Expand the response below": "verbosity_bias_long",
    "Say the response below at greater length": "verbosity_padding",
    "Say the response below in fewer words": "verbosity_bias_short",
    "Rewrite the response below so that it lies": "answer_ambiguity",
    "Write a new response to the request": "synthetic_ordinal",
}


def roles_at(url: str) -> Roles:
    return parse_roles(f"openai/writer?base_url={url}", f"openai/checker?base_url={url}")


def items(count: int) -> tuple[Item, ...]:
    """Right and wrong in turn."""
    return tuple(
        Item(
            f"sky-{n}",
            f"What colour is the sky over town {n}?",
            (f"On a clear day the sky above town {n} looks {colour(n % 2 == 0)} to most people.",),
            f"sky-{n}",
            label=str(int(n % 2 == 0)),
        )
        for n in range(count)
    )


def essays(count: int) -> tuple[Item, ...]:
    """Answers that name one planet, two, three …"""
    return tuple(
        Item(
            f"essay-{n}",
            f"Which planets does observer {n} know?",
            (f"Observer {n} has written down these: {', '.join(PLANETS[: 1 + n % 5])}.",),
            f"essay-{n}",
            label=str(1 + n % 5),
        )
        for n in range(count)
    )


def colour(right: bool) -> str:
    return "blue" if right else "green"


def true_score(text: str, low: int, high: int) -> int:
    """What the rubric gives."""
    if high == 1:
        return int("blue" in text)
    return max(low, sum(planet in text.lower() for planet in PLANETS))


@dataclass(frozen=True)
class AuthorRequest:
    """What the author was asked."""

    goal: str
    response: str
    expected: str | None
    request: str
    prompt: str
    temperature: float

    @property
    def retried(self) -> bool:
        return "An earlier try was turned down" in self.prompt


def obey(asked: AuthorRequest) -> str:
    """Write what was asked for."""
    shade = colour("blue" in asked.response)
    town = re.findall(r"\d+", asked.request)[0]
    match asked.goal:
        case "label_flip":
            return asked.response.replace(shade, colour(shade == "green"))
        case "semantic_paraphrase":
            return (
                f"Nearly everyone in place {town} would call what is overhead {shade} when no cloud is about."
            )
        case "verbosity_bias_long" | "verbosity_padding":
            return (
                f"When it so happens that there are no clouds at all and the people of town {town} look up, "
                f"then what most of them say that they see over their heads is a colour, and it is {shade}."
            )
        case "verbosity_bias_short":
            return f"In town {town} it mostly looks {shade}."
        case "answer_ambiguity":
            return f"Above town {town} some would say blue and others would rather say green, so who knows."
    named = PLANETS[: int(asked.expected or 1)]
    flavour = " ".join(f"{word}{town}{asked.expected}" for word in ("alpha", "beta", "gamma", "delta"))
    return f"{flavour}: {' and '.join(named)}, {flavour[::-1]}"


@dataclass
class Cast:
    """Answers every role; a test replaces what it wants to see go wrong."""

    write: Callable[[AuthorRequest], str | Answer] = obey
    grade: Callable[[str, int, int], int | Answer] = true_score
    same: Callable[[str, str], bool] = lambda first, second: ("blue" in first) == ("blue" in second)
    border: bool = True
    patience: int | None = None
    """After this many answers every further call hangs."""
    calls: Counter[str] = field(default_factory=Counter)
    """Model to number of calls."""
    keys: Counter[str] = field(default_factory=Counter)
    """Identity of a call to the number of times it came."""
    received: list[Received] = field(default_factory=list)
    hanging: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, request: Received) -> Answer:
        self.received.append(request)
        self.calls[request.body["model"]] += 1
        self.keys[request.headers.get("idempotency-key", "")] += 1
        if self.patience is not None and self.keys.total() > self.patience:
            self.hanging.release()
            return hang()
        if request.path.endswith("/embeddings"):
            return self._embed(request)
        return self._answer(request)

    def _answer(self, request: Received) -> Answer:
        asked = next((goal for start, goal in GOALS.items() if request.user.startswith(start)), None)
        if asked is not None:
            answer = self.write(author_request(asked, request))
            return answer if isinstance(answer, Answer) else says(f"<text>\n{answer}\n</text>")
        if request.user.startswith("Two responses"):
            same = self.same(part(request.user, "response A"), part(request.user, "response B"))
            return says(json.dumps({"same": "yes" if same else "no"}))
        if request.user.startswith("A response is graded"):
            return says(json.dumps({"open": "yes" if self.border else "no"}))
        try:
            shown = parse_score_prompt(request.user)
        except DataError as error:
            return sends(str(error), 500)
        score = self.grade(shown.response, shown.low, shown.high)
        return score if isinstance(score, Answer) else says(json.dumps({"score": score}))

    def _embed(self, request: Received) -> Answer:
        text = request.body["input"]
        vector = [float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
        return sends({"data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 9}})


def author_request(goal: str, request: Received) -> AuthorRequest:
    """Take an author's prompt apart."""
    wanted = re.search(r"(?:score: |the score )(\d+) on the scale", request.user)
    return AuthorRequest(
        goal,
        part(request.user, "response") if goal != "synthetic_ordinal" else "",
        wanted[1] if wanted else None,
        part(request.user, "request"),
        request.user,
        request.body["temperature"],
    )


def part(prompt: str, name: str) -> str:
    """The material under one mark; marks are the longest runs of their sign."""
    fence = max(re.findall("=+", prompt), key=len)
    found = re.search(rf"^{fence} {name}\n(.*?)\n{fence} ", prompt, re.S | re.M)
    return found[1] if found else ""
