"""Parsing as language modelling (PLM)."""
