"""Zero points: the dark current of every judge with its interval, one below the other."""

from __future__ import annotations

from steelyard.figures import (
    Figure,
    Panel,
    Summary,
    cell,
    colour,
    defined,
    draw,
    everyone,
    layer,
    limits,
    looks,
    mark,
    rate_axis,
    spoken,
    why_not,
)

TITLE = "Zero points"
CAPTION = "How often a judge names a winner where there is nothing to judge. Bars are 95 % intervals."
HEADER = ("judge", "dark current")


def zero_points(summary: Summary) -> Figure | None:
    """A dot and its interval for each judge; None where nobody was shown a vacuum."""
    found = {
        judge.name: summary.datasheet.find(judge.name, "dark_current", "vacuum", protocol="base")
        for judge in everyone(summary)
    }
    drawn = {name: estimate for name, estimate in found.items() if defined(estimate)}
    if not drawn:
        return None
    look = looks(summary)
    points = [
        {"judge": look[name].label, "at": e.value, "low": limits(e)[0], "high": limits(e)[1]}
        for name, e in drawn.items()
    ]
    y = {"field": "judge", "type": "nominal", "sort": None, "axis": {"title": None}}
    bar, dot = (
        mark("rule", color=colour("stable")),
        mark("point", filled=True, opacity=1, color=colour("stable")),
    )
    layers = [
        layer(points, bar, x=rate_axis("low", HEADER[1]), x2={"field": "high"}, y=y),
        layer(points, dot, x=rate_axis("at", HEADER[1]), y=y),
    ]
    rows = tuple((name, cell(summary, estimate)) for name, estimate in found.items())
    svg = draw(layers, width=380, height=32 * len(points), title=TITLE, label=spoken(HEADER, rows))
    omitted = [why_not(name, [(HEADER[1], e)]) for name, e in found.items() if name not in drawn]
    return Figure(TITLE, CAPTION, (Panel(svg),), HEADER, rows, omitted=tuple(omitted))
