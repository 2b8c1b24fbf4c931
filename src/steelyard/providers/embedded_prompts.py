"""Prompts short enough for the embedded model."""

EMBEDDED_PROMPT = "Question: {{ request }}\n\nAnswer 1: {{ first }}\n\nAnswer 2: {{ second }}\n\nWhich answer is better? Reply 1, 2 or tie."
EMBEDDED_STRICT_PROMPT = EMBEDDED_PROMPT
