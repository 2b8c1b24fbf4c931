"""The review session as pages."""
