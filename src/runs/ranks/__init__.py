"""The processes of a distributed training: the first one leads, the others follow."""
