"""Addresses of the viewer's pages, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from steelyard.commands.view.call_index import COUNTED, CallFilter, counts_calls, figure_name
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric


@dataclass(frozen=True)
class Links:
    run: int
    """Its place among the folders that were named."""

    def sheet(self, anchor: str = "") -> str:
        return f"/run/{self.run}/{anchor}"

    def calls(self, wanted: CallFilter | None = None, **more: object) -> str:
        """Calls that pass a filter; `more` changes parts of it, and an empty word takes one away."""
        parts: dict[str, object] = {} if wanted is None else dict(wanted.parts())
        parts = {name: value for name, value in {**parts, **more}.items() if value not in ("", None)}
        return f"/run/{self.run}/calls" + (f"?{urlencode(parts)}" if parts else "")

    def behind(self, estimate: Estimate, metric: Metric) -> str:
        del metric
        outcome = COUNTED if counts_calls(estimate) else ""
        return self.calls(CallFilter(figure=figure_name(estimate), outcome=outcome))

    def together(self, figure: str) -> tuple[str, ...]:
        return (figure,)

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
    """Addresses of pages that are written as files: fewer lists, and a call stands on its stimulus' page."""

    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a figure to all that are counted from the same calls: one list serves them."""

    def behind(self, estimate: Estimate, metric: Metric) -> str:
        first = self.together(figure_name(estimate))[0]
        return self.calls(CallFilter(figure=first, outcome=metric.behind))

    def together(self, figure: str) -> tuple[str, ...]:
        return self.alike.get(figure, (figure,))

    def call(self, name: str, stimulus: str, wanted: CallFilter | None = None) -> str:
        del wanted
        return f"{self.stimulus(stimulus)}#call-{name}"

    def file(self, name: str, wanted: CallFilter | None = None) -> str:
        """Downloads are of everything."""
        del wanted
        return super().file(name)
