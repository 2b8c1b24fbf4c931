"""Figures across the probes of a run."""
