"""Store links between documents and the names that they look for, and find connected documents.

`gnod.ingest.links` finds links in texts.
"""
