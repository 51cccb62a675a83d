"""The index on disk: one SQLite database. Knows tables and nothing of files, queries' meaning or the wire.

Functions take a connection and run inside the transaction of whoever calls them (`Database.write`), or on a
read-only connection (`Database.read`).
"""
