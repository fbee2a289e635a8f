"""Tests of gardenpath.eval.statistics.inference."""
