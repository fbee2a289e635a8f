"""Suites, items, formulas."""
