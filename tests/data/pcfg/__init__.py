"""Tests of the probabilistic grammars."""
