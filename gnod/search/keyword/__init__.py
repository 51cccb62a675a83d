"""Keyword search: `expression` makes a query for the full-text index, `lexical` ranks what it finds.

Also finding the words of a query in a text (`marks`), definitions by name (`symbols`), and lists without a query
(`listing`). The index itself is in `gnod.store.keyword_index`.
"""
