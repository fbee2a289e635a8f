"""Surprisals and results in the forms of other programs."""
