"""The edge to models, and the face for plug-in providers: what they say of themselves."""

from steelyard.providers.options import CalledOptions, Options, Settings, WireOptions
from steelyard.providers.provider import Provider
from steelyard.providers.traits import Check, Example, Traits
from steelyard.validation import Expected

__all__ = [
    "CalledOptions",
    "Check",
    "Example",
    "Expected",
    "Options",
    "Provider",
    "Settings",
    "Traits",
    "WireOptions",
]
