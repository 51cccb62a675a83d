"""Search the keyword index: the full-text table (`fulltext`), its vocabulary, and the postings, a copy in files.

Knows terms and their scores, with the weights in `gnod.bm25`. Does not know the query language.
"""
