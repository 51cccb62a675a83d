"""The hybrid query: `stages` runs both retrievers, fuses, expands and reranks, within `budget`.

The retrievers are in `gnod.search.keyword` and `gnod.search.meaning`, the fusion in `gnod.search.ranking`.
"""
