"""Change several tables at once: store and remove documents, rename collections, compact the index.

`gnod.store.tables` reads single tables.
"""
