"""Input of tasks, as the models of runs read it."""
