"""Tests of gardenpath.eval.statistics.questions."""
