"""Reports as text and pages."""
