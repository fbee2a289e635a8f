"""How anything is put on disk: whole or not at all, under a lock, with a key and a version."""
