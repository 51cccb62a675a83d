"""Share collections between people: one daemon publishes a collection to an engine, and others search it.

`attached.py` implements `gnod.search.hybrid.across_indexes`. Only the composition and the handlers of
the commands import this package.
"""
