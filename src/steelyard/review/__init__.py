"""People look at what was written, before it is judged."""
