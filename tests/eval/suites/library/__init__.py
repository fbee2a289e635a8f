"""Tests of gardenpath.eval.suites.library."""
