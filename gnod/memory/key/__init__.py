"""Store the key of the memories, encrypt texts with it, and erase it from the memory of the process.

This package encrypts any text. It must not depend on memories.
"""
