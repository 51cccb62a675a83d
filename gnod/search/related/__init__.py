"""Documents around a document: related ones, and the graph of links.

Links are stored in `gnod.store.links`, and found in texts by `gnod.ingest.links`.
"""
