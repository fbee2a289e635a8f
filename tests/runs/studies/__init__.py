"""Tests of gardenpath.runs.studies."""
