"""Edits of an agent's run by rule: each takes a transcript and gives another, or None where it can not."""
