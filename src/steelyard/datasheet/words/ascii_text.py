"""Text for an output that knows no Unicode."""

from __future__ import annotations

_ASCII = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "—": "-",
        "±": "+/-",
        "≤": "<=",
        "≥": ">=",
        "→": "->",
        "×": "x",
        "√": "sqrt",
        "²": "^2",
        "∞": "inf",
        "Δ": "D",
        "κ": "kappa",
        "ρ": "rho",
        "α": "alpha",
        "′": "'",
        "’": "'",
        "·": "|",
        "…": "...",
        "✓": "+",
    }
)


def ascii_only(text: str) -> str:
    """The same text for an output that knows no Unicode."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
