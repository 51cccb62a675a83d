"""Keyword search: `expression` makes a query for the full-text index, `lexical` ranks what it finds.

Other modules find the words of a query in a text (`marks`), find definitions by name (`symbols`), and list documents
without a query (`listing`). The index itself is in `gnod.store.keyword_index`.
"""
