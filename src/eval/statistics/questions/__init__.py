"""Configured statistical analyses and their results."""
