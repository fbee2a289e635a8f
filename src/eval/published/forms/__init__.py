"""Readers of the forms in which other programs write surprisals."""
