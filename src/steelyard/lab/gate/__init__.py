"""Deciding whether a judge may be used: policy, decision, certificate, drift."""
