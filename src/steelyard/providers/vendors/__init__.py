"""Models behind HTTP: chat completions, vendors with a dialect of their own, and the bridge to Inspect."""
