"""Vendors with a dialect of their own, and the bridge to Inspect."""
