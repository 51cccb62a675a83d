"""Keeps each collection's index equal to its folder: watching, syncing, freshness."""
