"""Tests of gardenpath.eval.published."""
