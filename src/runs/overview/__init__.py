"""Tables of runs in any state: finished, running, stopped or failed."""
