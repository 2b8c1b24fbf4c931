"""Figures of two texts."""
