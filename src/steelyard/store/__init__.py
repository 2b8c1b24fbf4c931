"""The edge to disk: one SQLite file per run."""
