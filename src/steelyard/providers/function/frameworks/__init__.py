"""Judges of evaluation frameworks, measured as they are: one adapter per framework, in one file."""
