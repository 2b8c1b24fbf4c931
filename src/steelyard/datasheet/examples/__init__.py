"""The calls behind figures: which to show, and why they count as they do."""
