"""Addresses of the viewer's pages, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from steelyard.commands.view.call_index import COUNTED, CallFilter
from steelyard.commands.view.figure_calls import counts_calls, figure_name
from steelyard.metrics.estimate import Estimate


@dataclass(frozen=True)
class Links:
    run: int
    """Its place among the folders that were named."""
    remedy: str = ""
    """The remedy that lists of calls are looked at with."""

    def sheet(self, anchor: str = "") -> str:
        return f"/run/{self.run}/{anchor}"

    def calls(self, wanted: CallFilter | None = None, **more: object) -> str:
        """Calls that pass a filter; `more` changes parts of it, and an empty word takes one away."""
        parts: dict[str, object] = {} if wanted is None else dict(wanted.parts())
        if self.remedy and parts.get("figure"):
            parts["remedy"] = self.remedy
        parts = {name: value for name, value in {**parts, **more}.items() if value not in ("", None)}
        return f"/run/{self.run}/calls" + (f"?{urlencode(parts)}" if parts else "")

    def behind(self, estimate: Estimate) -> str:
        outcome = COUNTED if counts_calls(estimate) else ""
        return self.calls(CallFilter(figure=figure_name(estimate), outcome=outcome))

    def remedied(self, estimate: Estimate, remedy: str) -> str:
        """The calls behind a figure, with the answers that a remedy makes of them."""
        return replace(self, remedy=remedy).calls(CallFilter(figure=figure_name(estimate)))

    def call(self, name: str, stimulus: str, wanted: CallFilter | None = None) -> str:
        """One call, in the list that a filter makes."""
        del stimulus
        query = "" if wanted is None else urlencode(dict(wanted.parts()))
        return f"/run/{self.run}/call/{name}" + (f"?{query}" if query else "")

    def stimulus(self, name: str) -> str:
        return f"/run/{self.run}/stimulus?id={quote(name, safe='')}"

    def file(self, name: str, wanted: CallFilter | None = None) -> str:
        query = "" if wanted is None else urlencode(dict(wanted.parts()))
        return f"/run/{self.run}/files/{name}" + (f"?{query}" if query else "")

    def chart_file(self, name: str) -> str:
        return f"/run/{self.run}/figures/{name}.svg"

    @property
    def map(self) -> str:
        return f"/run/{self.run}/map"

    @property
    def progress(self) -> str:
        return f"/run/{self.run}/progress"


@dataclass(frozen=True)
class StillLinks(Links):
    """Addresses of pages that are written as files: one page makes every list, call and stimulus."""

    def calls(self, wanted: CallFilter | None = None, **more: object) -> str:
        return super().calls(wanted, **more).replace("?", "#", 1)

    def call(self, name: str, stimulus: str, wanted: CallFilter | None = None) -> str:
        del stimulus
        return self.calls(wanted, call=name)

    def stimulus(self, name: str) -> str:
        return self.calls(texts=name)
