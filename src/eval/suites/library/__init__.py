"""The suites that come with Gardenpath: found, listed, generated and checked."""
