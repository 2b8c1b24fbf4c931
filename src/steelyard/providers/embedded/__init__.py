"""The model that ships with the project: weights, tokens, layers, reader."""
