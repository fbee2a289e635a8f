"""Tests of gardenpath.eval.suites.formats."""
