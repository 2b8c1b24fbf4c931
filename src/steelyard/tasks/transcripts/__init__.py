"""What an agent did: its messages, tool calls and results, as one frozen noun, and the ways to read it."""
