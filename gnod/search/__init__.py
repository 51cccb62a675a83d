"""The search service: what every kind of search does before and after its retrieval. Knows no wire.

The retrieval itself, from a query to ranked documents with passages, is gnod.pipeline.
"""
