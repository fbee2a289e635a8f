"""Parses from search, diagnostics of the search, and labelled bracketing."""
