"""Tests of gardenpath.models.plm."""
