"""Models that a server runs: HTTP requests, within the scope that `egress` allows. Knows no store and no collection.

Nothing outside this package knows HTTP. Every connection is made in `connection.py`, after the check of its address.
"""
