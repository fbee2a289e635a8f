"""Targeted test suites: their design, file formats, library and scoring."""
