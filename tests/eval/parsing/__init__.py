"""Tests of gardenpath.eval.parsing."""
