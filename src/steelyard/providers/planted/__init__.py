"""Judges of known merit: planted faults, baselines, the keys they may look at."""
