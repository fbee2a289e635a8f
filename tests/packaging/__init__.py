"""Tests of what a user installs: metadata, the Makefile, the wheel."""
