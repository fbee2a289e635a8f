"""Parsing as language modelling."""
