"""Parses found by search, diagnostics of the search, and labelled bracketing."""
