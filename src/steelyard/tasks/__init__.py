"""What is asked: scales, items, tasks, and the built-in catalogue."""
