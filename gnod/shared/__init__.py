"""Collections that many people share: published to an engine by one daemon, searched by others.

`attached.py` implements `gnod.search.hybrid.across_indexes`. Only the composition and the handlers of its
commands import this package.
"""
