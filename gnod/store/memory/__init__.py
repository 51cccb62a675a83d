"""The database of the memories, which is separate from the index. Its content is sealed.

Knows no key; that is in `gnod.memory.key`.
"""
