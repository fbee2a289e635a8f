"""Tasks on raw text."""
