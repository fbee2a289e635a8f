"""A SLURM cluster of one node, and sweeps in its queue."""
