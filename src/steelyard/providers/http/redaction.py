"""Redaction: keys are struck out of what a server sends, in every spelling that a later decoding would undo.

A server may quote a key as it is, with escapes of JSON (`\\u002B`), of addresses (`%2B`) or of pages
(`&#43;`), broken by blanks, or with stars in its middle. After redaction no decoding brings the key back: a
text in which it hides in yet another way is withheld as a whole.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache

MARK = "[key]"
_MIN_LENGTH = 8
"""Shorter secrets are ordinary words."""
_MIN_SPLIT_LENGTH = 16
"""A shorter key may be two words, such as `not needed`, with a blank between them."""
_ESCAPE = re.compile(r"\\+u00([0-7][0-9a-fA-F])|%([0-7][0-9a-fA-F])")
_NAMES = {"&": "|&amp;", "<": "|&lt;", ">": "|&gt;", '"': "|&quot;", "'": "|&apos;"}
_BLANK = r"(?:\s|\\{1,4}[nrt]|\\{1,4}u00(?:20|0[9aAdD])|%(?:20|0[9aAdD])){0,99}"


class Redactor:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(dict.fromkeys(one for one in secrets if len(one) >= _MIN_LENGTH))

    def redact(self, text: str, *, is_error: bool = False) -> str:
        """The text without the keys; in errors also without keys that the server shows in part."""
        for secret in self._secrets:
            text = text.replace(secret, MARK)
            if _holds(text, secret):
                text = _spellings(secret).sub(MARK, text)
                text = MARK if _holds(text, secret) else text
            if is_error:
                text = _masked(secret).sub(MARK, text)
        return text


def _holds(text: str, secret: str) -> bool:
    """Whether the secret is in the text once every escape is decoded."""
    if "\\u00" in text or "%" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if "&" in text:
        text = html.unescape(text)
    if len(secret) >= _MIN_SPLIT_LENGTH:
        for blank in ("\\n", "\\r", "\\t"):
            text = text.replace(blank, "")
        text = "".join(text.split())
    return secret.replace("\\", "") in text.replace("\\", "")


@cache
def _spellings(secret: str) -> re.Pattern[str]:
    blank = _BLANK if len(secret) >= _MIN_SPLIT_LENGTH else ""
    return re.compile(blank.join(map(_spelling, secret)))


def _spelling(sign: str) -> str:
    code = ord(sign)
    escapes = rf"(?i:\\{{1,4}}u{code:04x}|%{code:02x}|&#0{{0,4}}{code};|&#x0{{0,4}}{code:x};)"
    return rf"(?:\\{{0,4}}{re.escape(sign)}|{escapes}{_NAMES.get(sign, '')})"


@cache
def _masked(secret: str) -> re.Pattern[str]:
    """A key of which a server shows the beginning and the end; fewer letters tell where there are stars."""
    stars = rf"{re.escape(secret[:2])}[\w-]*\*{{2,}}"
    dots = rf"{re.escape(secret[:4])}[\w-]*(\.{{3}}|…|\\u2026)"
    return re.compile(rf"(?<![\w-])({stars}|{dots})[\w*-]*")
