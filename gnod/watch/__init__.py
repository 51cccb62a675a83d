"""File system events: which paths below a folder have changed. A hint, never the truth.

Must not depend on collections, the index or ignore rules: the walk of a folder says which folders it enters, and those
are watched.
"""
