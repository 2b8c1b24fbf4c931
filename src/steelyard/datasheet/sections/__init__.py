"""Figures in reading order."""
