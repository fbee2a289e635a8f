"""What is in the folders below a folder of runs, and in what state."""
