"""Related documents, and the graph of links around a document.

`gnod.ingest.links` finds the links in texts, and `gnod.store.links` stores them.
"""
