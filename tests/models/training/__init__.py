"""Tests of gardenpath.models.training."""
