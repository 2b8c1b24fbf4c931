"""What is read: verdicts from replies, and observations for the metrics."""
