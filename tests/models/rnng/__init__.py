"""Tests of gardenpath.models.rnng."""
