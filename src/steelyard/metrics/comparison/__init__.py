"""Two judges on shared stimuli."""
