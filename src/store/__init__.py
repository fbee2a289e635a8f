"""Storage on disk: atomic writes, locks, keys, versions and checksums."""
