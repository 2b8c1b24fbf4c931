"""Thin commands over the laboratory."""
