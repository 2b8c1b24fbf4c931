"""Servers that speak chat completions: OpenAI, Azure, and those known by name."""
