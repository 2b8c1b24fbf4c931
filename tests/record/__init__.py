"""The record of what datasheets say: run folders of every kind, each rendered in four forms."""
