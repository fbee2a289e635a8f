"""Tests of adopted models."""
