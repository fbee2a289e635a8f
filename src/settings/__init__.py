"""Typed settings: ranges, checks, composition with Hydra, and the two roots."""
