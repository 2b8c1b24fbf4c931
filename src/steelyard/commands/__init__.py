"""What each command does: measure, report, compare, show, export and the others."""
