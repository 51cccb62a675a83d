"""Models that a server runs: HTTP requests, within the scope that `egress` allows. Must not depend on the store or
collections.

Nothing outside this package knows HTTP. Every connection is made in `connection.py`, after the check of its address.
"""
