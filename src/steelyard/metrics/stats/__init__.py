"""The statistics: they know no judge."""
