"""Intervals, permutation tests and correlations."""
