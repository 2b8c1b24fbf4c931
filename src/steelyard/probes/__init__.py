"""The catalogue of probes: one class per probe, the extension point."""
