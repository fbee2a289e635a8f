"""Find the runs of an evaluation, and go on without those that are damaged."""
