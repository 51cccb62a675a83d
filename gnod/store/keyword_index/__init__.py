"""The keyword index: the full-text table (`fulltext`), its words, and the postings, which are a copy for large indexes.

Knows terms and their scores; does not know the query language.
"""
