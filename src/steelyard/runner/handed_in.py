"""Calls that were handed in as batches and have no reply yet: paid for, and not to be asked again."""

from __future__ import annotations

from steelyard.providers.batch.batch_api import call_key
from steelyard.store.run_store import RunStore


def handed_in(store: RunStore) -> set[str]:
    """Their keys."""
    waiting = set(map(call_key, store.submitted_calls()))
    return waiting - store.answered() if waiting else waiting
