"""Processes that read the database for the daemon while many clients search: the process, and the daemon's side of it.

What they compute is a function of another module, which they are told.
"""
