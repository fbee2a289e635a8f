"""The HTML page of the report."""
