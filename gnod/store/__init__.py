"""The index on disk: one SQLite database. Knows tables; knows no files, no meaning of queries and no wire.

Functions take a connection and run in the caller's transaction (`Database.write`), or on a read-only connection
(`Database.read`).
"""
