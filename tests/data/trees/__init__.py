"""Tests of gardenpath.data.trees."""
