"""Tests of gardenpath.eval.statistics.mixed."""
