"""Verdicts that somebody else collected: files → calls → observations; a file can also answer as a judge."""
