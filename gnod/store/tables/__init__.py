"""Read and write the rows of tables. Each table has one module.

`gnod.store.documents` changes several tables in one step. Tables with an index of their own are in
`gnod.store.keyword_index`, `gnod.store.vectors` and `gnod.store.links`.
"""
