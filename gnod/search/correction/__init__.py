"""Words of a query that the index does not know: which of its words are meant.

`correctable_words` says which words may be corrected, `edits` what a slip is, `query_correction` chooses the likeliest;
`correction_service` keeps the words of the index in memory. Does not rank documents.
"""
