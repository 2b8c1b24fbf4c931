"""Figures of one text."""
