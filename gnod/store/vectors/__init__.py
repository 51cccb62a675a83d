"""Embedding vectors, and nearest-neighbour search on disk."""
