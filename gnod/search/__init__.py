"""The search service: what every kind of search does before and after its retrieval. Must not depend on the wire types.

The retrieval itself, from a query to ranked documents with passages, is gnod.pipeline.
"""
