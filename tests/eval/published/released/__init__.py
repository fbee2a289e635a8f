"""Tests of gardenpath.eval.published.released."""
