"""Tests of gardenpath.models.factored."""
