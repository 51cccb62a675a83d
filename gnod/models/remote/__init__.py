"""Models that a server runs: HTTP requests, within the scope that `egress` allows. Must not depend on the store or
collections.

Only this package uses HTTP. Every connection is made in `connection.py`, after the check of its address.
"""
