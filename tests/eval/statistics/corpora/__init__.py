"""Tests of gardenpath.eval.statistics.corpora."""
