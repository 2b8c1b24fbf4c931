"""Replies by their ids: one that comes twice on a connection is a repeat, and answers no second request.

Most servers give each reply an id of its own, some give all the same one. Ids are believed once several
differ, and never again after one came on two connections or with two texts.
"""

from __future__ import annotations

import re

BELIEVED = 8
"""Different ids that a server has to give first."""
KEPT = 4096
"""Ids that are remembered: a repeat comes soon after its reply."""
_ID = re.compile(r'"(?:id|responseId)"\s*:\s*"([^"]+)"')


class ReplyIds:
    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._differ = True

    @property
    def believed(self) -> bool:
        return self._differ and len(self._seen) >= BELIEVED

    def is_repeat(self, text: str, connection: int) -> bool:
        """Whether a reply on the connection of this number came there before; else it is remembered."""
        found = _ID.search(text) if self._differ else None
        if found is None:
            return False
        seen = self._seen.get(found[1])
        if seen is None:
            if len(self._seen) >= KEPT:
                del self._seen[next(iter(self._seen))]
            self._seen[found[1]] = connection, hash(text)
            return False
        self._differ = seen == (connection, hash(text))
        return self.believed

    def is_known(self, text: str, connection: int) -> bool:
        """Whether the id in the text is that of a reply on this connection."""
        found = _ID.search(text) if self.believed else None
        return found is not None and self._seen.get(found[1], (0, 0))[0] == connection
