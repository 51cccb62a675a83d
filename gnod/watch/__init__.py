"""Events of the operating system: which paths below a folder have changed. A hint, never the truth.

Knows no collections, no index and no rules of what is left out: whoever walks the folder says which folders he enters,
and those are watched.
"""
