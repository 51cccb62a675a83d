"""Detect, classify and repair damage of an index."""
