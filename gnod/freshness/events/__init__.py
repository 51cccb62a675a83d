"""File system events: which paths below a folder have changed. A hint, never the truth.

    source     what every source offers, and what can go wrong
    inotify    Linux
    portable   other systems
    factory    chooses the source of a folder

Must not depend on collections, the index or the configuration.
"""
