"""The review bench as pages."""
