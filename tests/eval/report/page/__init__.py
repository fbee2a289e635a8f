"""Tests of gardenpath.eval.report.page."""
