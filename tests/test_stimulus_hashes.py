"""Hashes by form are the hashes of the stimuli, one by one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from steelyard.stimuli.expectation import Label, NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.stimuli.stimulus_hashes import stimulus_hashes

TEXT = st.text(max_size=5) | st.sampled_from(["\ue0000", "\ue0003", '"\ue0001"', "\ud800", "\\ue0002"])
NUMBER = st.none() | st.sampled_from([0.0, -0.0, 1.0, 2, 0.1])
STIMULI = st.builds(
    Stimulus,
    id=TEXT,
    probe=TEXT,
    kind=TEXT,
    cluster=TEXT,
    stratum=TEXT,
    request=TEXT,
    texts=st.tuples(TEXT) | st.tuples(TEXT, TEXT),
    expectation=st.sampled_from([Prefers("u"), Prefers("v"), NoPreference(), Unknown(), Label("1")]),
    lineage=st.builds(Lineage, parent=TEXT, edit=TEXT, author=TEXT, validation=st.none() | TEXT),
    delta=NUMBER,
    level=NUMBER,
    rubric=st.none() | TEXT,
    reference=st.none() | TEXT,
    instruction=st.none() | TEXT,
    scale=st.none() | st.sampled_from(["binary", "1-5"]),
    failing=st.none() | TEXT,
    authors=st.none() | st.tuples(TEXT),
)


@given(st.lists(STIMULI, max_size=6), TEXT)
def test_hashes_by_form_are_those_of_each(stimuli: list[Stimulus], name: str) -> None:
    every = [*stimuli, *(replace(stimulus, id=name) for stimulus in stimuli)]
    assert list(stimulus_hashes(every)) == [stimulus.hash for stimulus in every]
