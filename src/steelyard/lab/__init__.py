"""Where the core meets the edges: studies, plans, runs."""
