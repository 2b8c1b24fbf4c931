"""How often the printed intervals hold the truth: simulated judges whose truth is known."""
