"""Calls, from plan to observation."""
