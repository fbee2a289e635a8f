"""Tests of formulas and their matrices."""
