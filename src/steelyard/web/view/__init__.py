"""The viewer as pages."""
