"""The database of the memories, which is separate from the index. Its content is sealed.

It does not know the key; that is in `gnod.memory.key`.
"""
