"""Test suites and surprisals of published studies."""
