"""Drawing primitives and plot types; they know no chart."""
