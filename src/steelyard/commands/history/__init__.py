"""Runs of one judge over time: which belong together, and where a change is shown."""
