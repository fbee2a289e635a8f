"""Tests of src.eval."""
