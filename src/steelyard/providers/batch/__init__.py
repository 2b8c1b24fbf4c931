"""Batch APIs of vendors: calls submitted together, results collected later."""
