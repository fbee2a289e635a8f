"""Analyses as configuration, and their answers."""
