"""Words of a query that the index does not know: which of its words are meant.

`correctable_words` says which words may be corrected, `edits` what a slip is, `query_correction` chooses the likeliest
of the `known_words` of the index; `correction_service` keeps these in memory. Does not rank documents.
"""
