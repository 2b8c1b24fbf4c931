"""Sentences that the tests allow."""
