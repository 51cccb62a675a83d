"""One module for each table: its rows as they are read and written.

What changes several tables in one step is in `gnod.store.documents`. Tables with an index of their own are in
`gnod.store.keyword_index`, `gnod.store.vectors` and `gnod.store.links`.
"""
