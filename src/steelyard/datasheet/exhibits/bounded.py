"""Long and hostile texts, cut to a length with what is missing counted; nothing else about them changes."""

from __future__ import annotations

from dataclasses import replace

from steelyard.datasheet.exhibits.exhibit import Exhibit, ShownCall, ShownText

TEXT, REPLY = 800, 600
"""Characters of a text and of a reply that a published datasheet shows."""


def bounded(exhibit: Exhibit, text: int = TEXT, reply: int = REPLY) -> Exhibit:
    """The exhibit with texts and replies of at most so many characters."""
    return replace(
        exhibit,
        shown=tuple(_shown(each, text) for each in exhibit.shown),
        calls=tuple(_call(each, reply) for each in exhibit.calls),
    )


def cut(text: str, limit: int) -> str:
    """Beginning and end of a long text, with the count of what is left out; lone surrogates as escapes."""
    if len(text) > limit:
        tail = limit // 4
        left_out = f"[… {len(text) - limit:,} characters …]"
        text = f"{text[: limit - tail]} {left_out} {text[len(text) - tail :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(shown: ShownText, limit: int) -> ShownText:
    texts = None if shown.texts is None else tuple(cut(text, limit) for text in shown.texts)
    request = None if shown.request is None else cut(shown.request, limit)
    return replace(shown, texts=texts, request=request, edit=cut(shown.edit, limit), id=cut(shown.id, limit))


def _call(call: ShownCall, limit: int) -> ShownCall:
    reply = None if call.reply is None else cut(call.reply, limit)
    message = None if call.message is None else cut(call.message, limit)
    return replace(call, reply=reply, message=message, id=cut(call.id, limit))
