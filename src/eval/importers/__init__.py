"""Test materials and results in the layouts of other collections."""
