"""The config file `index.yml`: its settings, reading it, and edits that keep its comments.

`model` declares the settings, `load.load` reads, `edit.*` writes. Must not depend on the wire types, asyncio or the
database.
"""
