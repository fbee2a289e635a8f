"""Suites as files, our own and others'."""
