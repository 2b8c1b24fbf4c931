"""The charts of the page, by subject."""
