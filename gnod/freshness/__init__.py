"""Keep each collection's index equal to its folder: watching, syncing, and searches that wait for a sync.

`timings` defines all times. `gnod.ingest.sync` does a single comparison of a folder with the index.
"""
