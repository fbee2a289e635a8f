"""States shared by the searches of RNNG and PLM: arenas and lazy word scores."""
