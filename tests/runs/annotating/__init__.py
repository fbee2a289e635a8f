"""Tests of gardenpath.runs.annotating."""
