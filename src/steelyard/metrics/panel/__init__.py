"""Figures of several judges together."""
