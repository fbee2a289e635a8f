"""Tests of src.models."""
