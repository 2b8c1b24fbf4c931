"""Verdicts that somebody else collected: files → observations → datasheet, without a call."""
