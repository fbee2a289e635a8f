"""Recurrent neural network grammars."""
