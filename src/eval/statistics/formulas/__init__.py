"""Formulas of models, and the matrices that they stand for."""
