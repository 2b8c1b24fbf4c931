"""Redaction: keys are struck out of what comes in, in every spelling that a later decoding would undo.

A server or a client may quote a key as it is, with escapes of JSON (`\\u002B`), of programs (`\\x2B`), of
addresses (`%2B`) or of pages (`&#43;`), escaped once more (`%252B`), in base64, base32 or hex, broken by
blanks or by signs that nobody sees, or with stars in place of a part. After redaction none of these decodings
brings the key back: a text in which it hides in a mixture of them is withheld as a whole. A text is redacted
before it is cut: half a key would pass.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

MARK = "[key]"
_MIN_LENGTH = 8
"""Shorter secrets are ordinary words."""
_MIN_SPLIT_LENGTH = 16
"""A shorter key may be two words, such as `not needed`, with a blank between them."""
_ESCAPE = re.compile(r"(?:\\+(?:u00|x)|%)([0-7][0-9a-fA-F])|\\+u\{0*([0-7][0-9a-fA-F])\}")
_MAX_ESCAPES = 4
"""Times that a text is decoded: what is escaped more often comes to no reader as a key."""
_AGAIN, _AMPERSAND = "(?:25){0,3}", "&(?:amp;){0,3}"
"""A per cent sign, or an ampersand, that was escaped in its turn."""
_NAMES = {"&": "amp;", "<": "lt;", ">": "gt;", '"': "quot;", "'": "apos;"}
_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Signs without a width."""
_DROP_UNSEEN = dict.fromkeys(map(ord, _UNSEEN))
_BLANK = (
    rf"(?:[\s{_UNSEEN}]|\\{{1,4}}[nrt]|\\{{1,4}}(?:u00|x)(?:20|0[9aAdD])|%{_AGAIN}(?:20|0[9aAdD])){{0,99}}"
)


class Redactor:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(dict.fromkeys(one for one in secrets if len(one) >= _MIN_LENGTH))
        every = (*self._secrets, *(form for secret in self._secrets for form in _encoded_forms(secret)))
        self._forms = tuple(map(_SecretForm.of, every))

    def redact(self, text: str, *, is_error: bool = False) -> str:
        """The text without the keys; in errors also without keys that the server shows in part."""
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        decoded = _decoded(text) if self._forms else ("", "")
        for form in self._forms:
            if form.is_in(decoded):
                text = _spellings(form.text).sub(MARK, text)
                decoded = _decoded(text)
                if form.is_in(decoded):
                    return MARK
        if is_error:
            for secret in self._secrets:
                text = _masked(secret).sub(MARK, text)
        return text

    def redact_all(self, value: Any, *, is_error: bool = False) -> Any:
        """The same value with every text in its lists and mappings redacted."""
        if isinstance(value, str):
            return self.redact(value, is_error=is_error)
        if isinstance(value, Mapping):
            return {
                self.redact_all(name, is_error=is_error): self.redact_all(value[name], is_error=is_error)
                for name in value
            }
        if isinstance(value, (list, tuple)):
            return [self.redact_all(each, is_error=is_error) for each in value]
        return value


def _decoded(text: str) -> tuple[str, str]:
    """The text once every escape is decoded: as it is, and without its blanks."""
    for _ in range(_MAX_ESCAPES):
        before = text
        if "\\u" in text or "\\x" in text or "%" in text:
            text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
        if "&" in text:
            text = html.unescape(text)
        if text == before:
            break
    joined = text if text.isascii() else text.translate(_DROP_UNSEEN)
    for blank in ("\\n", "\\r", "\\t"):
        joined = joined.replace(blank, "")
    return text.replace("\\", ""), "".join(joined.split()).replace("\\", "")


class _SecretForm(NamedTuple):
    """One form of a secret, and what of it is left in a text that is decoded."""

    text: str
    bare: str
    joined: str | None
    """Without its blanks; None where a text without blanks may hold it by chance."""

    @classmethod
    def of(cls, text: str) -> _SecretForm:
        bare = text.replace("\\", "")
        return cls(text, bare, "".join(bare.split()) if len(text) >= _MIN_SPLIT_LENGTH else None)

    def is_in(self, decoded: tuple[str, str]) -> bool:
        text, joined = decoded
        return self.bare in text if self.joined is None else self.joined in joined


@cache
def _encoded_forms(secret: str) -> tuple[str, ...]:
    """In hex, in a form of the web, and what is sure of a secret in base64 and base32.

    Whatever stands before it there (three and five alignments) and after it.
    """
    data = secret.encode()
    forms = [data.hex(), data.hex().upper(), *([secret.replace("+", " ")] if "+" in secret else [])]
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode()
        sure = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms += [sure, sure.replace("+", "-").replace("/", "_")]
    for before in range(5):
        encoded = base64.b32encode(bytes(before) + data).decode()
        sure = encoded[-(-before * 8 // 5) : (before + len(data)) * 8 // 5]
        forms += [sure, sure.lower()]
    return tuple(dict.fromkeys(forms))


@cache
def _spellings(secret: str) -> re.Pattern[str]:
    if len(secret) < _MIN_SPLIT_LENGTH:
        return re.compile("".join(map(_spelling, secret)))
    return re.compile(_BLANK.join(map(_spelling, "".join(secret.split()))))


def _spelling(sign: str) -> str:
    code = ord(sign)
    name = f"|{_NAMES[sign]}" if sign in _NAMES else ""
    program = rf"\\{{1,4}}(?:u{code:04x}|x{code:02x}|u\{{0{{0,4}}{code:x}\}})"
    page = rf"{_AMPERSAND}(?:#0{{0,4}}{code};|#x0{{0,4}}{code:x};{name})"
    return rf"(?:\\{{0,4}}{re.escape(sign)}|(?i:{program}|%{_AGAIN}{code:02x}|{page}))"


@cache
def _masked(secret: str) -> re.Pattern[str]:
    """A key of which a server shows beginning or end; fewer letters tell where there are stars."""
    part = r"[\w/+=-]*?"
    stars = rf"{re.escape(secret[:2])}{part}([*•#]{{2,}}|[xX]{{4,}})"
    dots = rf"{re.escape(secret[:4])}{part}(\[?\.{{3}}\]?|…|\\u2026|[<\[]redacted[>\]])"
    tail = rf"(?:[*•#]{{2,}}|[xX]{{4,}}|\[?\.{{3}}\]?|…|\\u2026){re.escape(secret[-4:])}(?![\w-])"
    return re.compile(rf"(?<![\w-])({stars}|{dots})[\w*•#/+=-]*|{tail}")
