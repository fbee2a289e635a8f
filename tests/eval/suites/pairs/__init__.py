"""Tests of gardenpath.eval.suites.pairs."""
