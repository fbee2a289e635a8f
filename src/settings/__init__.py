"""Typed settings: ranges, checks, composition with Hydra, and the settings of both scripts."""
