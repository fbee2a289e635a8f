"""Searching for the parses of a prefix: surprisal from models of trees."""
