"""The instrument card: what a judge is asked, how, where and at what price, as far as a folder knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PromptCard:
    protocol: str
    system: str | None
    user: str
    reader: str
    sent: str | None = None
    """The user message of one call as it was rendered, cut to a length."""


@dataclass(frozen=True)
class InstrumentCard:
    """Everything that decides a verdict, and where it is reached; never a key."""

    judge: str
    model: str
    prompted: bool
    """False for a judge that answers by the texts alone: its prompts are sent nowhere."""
    instruction: str
    rubric: str
    """The rubric; items and probes may bring their own."""
    scale: str
    temperature: float | None
    """None leaves it to the server."""
    max_tokens: int
    seed: int | None
    """Sent where the server takes one; repeats have seeds of their own."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of the request or the provider; values that look like secrets are not shown."""
    server: str | None = None
    """Host and port; None for the provider's own address or where there is no server."""
    price: str | None = None
    """Dollars per million tokens, and whose they are; None where nobody says."""
    members: tuple[str, ...] = ()
    """Judges that its verdicts are made of, where it is not asked itself."""
    prompts: tuple[PromptCard, ...] = ()


@dataclass(frozen=True)
class Service:
    """How a judge was served in one run: an entry of `run.instruments`."""

    calls: int = 0
    served: Mapping[str, int] = field(default_factory=dict)
    """Model that the server says it used, to calls; empty where it says nothing."""
    latency_p50: float | None = None
    """Median wall time of a call, in milliseconds."""
    latency_p95: float | None = None
    """Wall time that one call in twenty exceeds, in milliseconds."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Field of the request that the server would not take, to calls made without it."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Class of failure to calls."""
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """Reason why a reply held no answer, to calls."""
