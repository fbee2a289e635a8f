"""The published studies: their tables, figures and claims, computed anew and compared."""
