"""Helpers that every package may use and that know no judge: hashes, columns, validation, text."""
