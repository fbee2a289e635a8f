"""Sweeps: folders of jobs, launchers, failures."""
