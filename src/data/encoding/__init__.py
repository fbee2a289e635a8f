"""Splits of a corpus as arrays of ids."""
