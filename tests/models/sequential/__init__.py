"""Tests of gardenpath.models.sequential."""
