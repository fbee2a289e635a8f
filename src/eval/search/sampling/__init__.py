"""Searches that leave something to chance: weights, replicates, and standard errors."""
