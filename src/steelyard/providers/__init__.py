"""The edge to models: one Protocol, one file per provider."""
