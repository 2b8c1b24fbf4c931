"""Runs of agents that a model edits: what is planned, what one edit may change, what must still fit."""
