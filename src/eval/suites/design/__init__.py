"""Test suites, their items and their predictions as formulas."""
