"""The key of the memories: where it is kept, what it seals, and how it leaves the memory of the process.

It does not know memories, only texts to seal.
"""
