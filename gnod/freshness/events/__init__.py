"""File system events: which paths below a folder have changed. A hint, never the truth.

    source     what every source offers, and what can go wrong
    inotify    Linux
    portable   other systems
    factory    chooses the source of a folder

Knows no collections, no index and no configuration.
"""
