"""Reports of two judges."""
