"""What the searches of RNNG and PLM share: arenas of states and lazy word scores."""
