"""The edge to models, and the face for plug-in providers: what they say of themselves."""

from steelyard.core.validation import Expected
from steelyard.providers.provider import Provider
from steelyard.providers.provider_info import (
    CallOptions,
    DoctorCheck,
    HttpOptions,
    JudgeExample,
    Options,
    ProviderInfo,
    Settings,
)
from steelyard.trials.judge import Judge, Presentation, Reply

__all__ = [
    "CallOptions",
    "DoctorCheck",
    "Expected",
    "HttpOptions",
    "Judge",
    "JudgeExample",
    "Options",
    "Presentation",
    "Provider",
    "ProviderInfo",
    "Reply",
    "Settings",
]
