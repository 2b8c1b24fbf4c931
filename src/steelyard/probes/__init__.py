"""The catalogue of probes: one file per probe, the extension point."""
