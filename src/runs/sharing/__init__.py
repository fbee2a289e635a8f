"""Runs as folders for others: portable runs, and models of the library transformers."""
