"""The hybrid query: `stages` asks both retrievers, fuses, expands and reranks, within `budget`.

How one retriever ranks is in `gnod.search.keyword` and `gnod.search.meaning`, how two become one in
`gnod.search.ranking`.
"""
