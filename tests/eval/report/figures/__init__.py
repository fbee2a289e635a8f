"""Tests of gardenpath.eval.report.figures."""
