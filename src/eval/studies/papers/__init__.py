"""The studies: for each paper its tables and figures, and its claims."""
