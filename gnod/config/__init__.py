"""The config file `index.yml`: its settings, reading it, and edits that keep its comments.

`model` declares the settings, `load.load` reads, `edit.*` writes. Knows neither the wire nor asyncio nor the database.
"""
