"""From readings to a verdict: rules, the facts in plain words, and the conclusion."""
