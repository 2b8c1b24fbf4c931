"""What is done: judges, prompts, trials and raw replies."""
