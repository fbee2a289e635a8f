"""One specification per paper: its tables and figures, and its claims."""
