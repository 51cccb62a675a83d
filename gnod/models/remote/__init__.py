"""HTTP clients for models that a server runs, within the scope that `egress` allows. This package must not depend on
the store or collections.

Only this package uses HTTP. Every connection is made in `connection.py`, after the check of its address.
"""
