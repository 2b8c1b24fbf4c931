"""Judges of known merit: planted faults, house judges, the keys they may look at."""
