"""Tests of gardenpath.eval.suites.design."""
