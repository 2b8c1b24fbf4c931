"""How figures are named and spelled."""
