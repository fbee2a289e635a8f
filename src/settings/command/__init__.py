"""The command line: its overrides, its sweeps and its help."""
