"""Fuzzing: every reader of files gets damaged and odd input, and either reads or refuses it."""
