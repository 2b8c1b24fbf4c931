"""A Python function as a judge."""
