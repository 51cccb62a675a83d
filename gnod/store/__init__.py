"""The index on disk: one SQLite database. Must not depend on source files, the meaning of queries or the wire types.

Functions take a connection and run in the caller's transaction (`Database.write`), or on a read-only connection
(`Database.read`).
"""
