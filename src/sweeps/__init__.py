"""Sweeps: many jobs, in this process, in parallel or on a cluster."""
