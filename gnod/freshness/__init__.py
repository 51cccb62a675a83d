"""Keeps each collection's index equal to its folder: watching, syncing, and searches that wait for it.

All times are in `timings`. One comparison of a folder with the index is in `gnod.ingest.sync`.
"""
