"""Gardenpath: train language models, read their surprisal, test their grammar."""

__version__ = "0.2.0"
