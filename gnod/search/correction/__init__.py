"""Correct words of a query that no document has.

`correctable_words` decides which words may be corrected, `edits` lists possible slips, and `query_correction` chooses
the likeliest of the `known_words` of the index. `correction_service` keeps these in memory. Does not rank documents.
"""
