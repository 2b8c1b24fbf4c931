"""The joint fit."""
