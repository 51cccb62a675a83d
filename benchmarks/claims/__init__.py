"""Checks claims with a known stance of the documents through the daemon."""
