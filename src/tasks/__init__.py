"""What evaluate.py can do, one module per task."""
