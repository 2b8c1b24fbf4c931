"""Calls handed over by the file or the batch, collected later."""
