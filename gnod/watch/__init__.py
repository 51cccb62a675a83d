"""File system events: which paths below a folder have changed. A hint, never the truth.

Knows no collections, no index and no ignore rules: the walk of a folder says which folders it enters, and those are
watched.
"""
