"""Models that write stimuli and models that confirm them, before anything is judged."""
