"""Links between documents and the names that they look for: which documents are connected.

Links are found in texts by `gnod.ingest.links`.
"""
