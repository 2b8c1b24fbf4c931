"""Deciding whether a judge may be used: policy, ruling, certificate, drift."""
