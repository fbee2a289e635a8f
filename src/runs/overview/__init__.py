"""Tables of runs in any state: done, running, unfinished, failed or damaged."""
