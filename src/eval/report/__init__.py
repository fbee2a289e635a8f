"""The report of an evaluation: its figures and its HTML page."""
