"""Gardenpath: train language models, read their surprisal, test their grammar."""
