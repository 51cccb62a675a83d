"""Searching: from a query to ranked documents with passages. Knows the store; knows no wire and no files."""
