"""Decisions that stop early."""
