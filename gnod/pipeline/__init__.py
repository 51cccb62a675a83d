"""Searching: from a query to ranked documents with passages. Depends on the store; must not depend on the wire types or
files."""
