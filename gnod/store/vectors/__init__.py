"""Store embedding vectors, and find the nearest ones on disk."""
