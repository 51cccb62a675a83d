"""What changes several tables at once: documents are stored and removed, collections renamed, the index compacted.

Reading one table is in `gnod.store.tables`.
"""
