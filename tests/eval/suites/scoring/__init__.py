"""Tests of gardenpath.eval.suites.scoring."""
