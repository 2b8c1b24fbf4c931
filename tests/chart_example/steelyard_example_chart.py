"""Dark currents: the dark current of every judge with its interval, one below the other."""

from __future__ import annotations

from steelyard.charts import Summary, all_judges, defined, forest_plot, interval_row


def zero_points(summary: Summary) -> str | None:
    """How often a judge names a winner where there is nothing to judge. Bars are 95 % intervals."""
    rows = []
    for judge in all_judges(summary):
        estimate = summary.datasheet.find(judge.name, "dark_current", "vacuum", protocol="base")
        if defined(estimate):
            rows.append(interval_row(estimate, judge.name, "stable"))
    return forest_plot(rows, title="Dark currents", axis_title="dark current") if rows else None
