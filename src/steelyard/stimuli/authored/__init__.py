"""Stimuli that somebody has to write: what is asked for, and how it is checked."""
