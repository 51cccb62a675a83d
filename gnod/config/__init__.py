"""The config file `index.yml`: what it may hold, reading it, and edits that keep its comments.

`load.load` reads, `edit.*` writes, `model` says what a valid file means. Nothing here knows the wire, asyncio
or the database. The caller serialises edits of one file.
"""
