"""Store memories in their own database, separate from the index. Its content is sealed.

This package does not know the key, which is in `gnod.memory.key`.
"""
