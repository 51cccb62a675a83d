"""The keyword index: the full-text table (`fulltext`), its words, and the postings, a copy in files, which scores.

Knows terms and their scores, with the weights in `gnod.bm25`; does not know the query language.
"""
