"""Speed benchmarks, reported as ratios within one run."""
