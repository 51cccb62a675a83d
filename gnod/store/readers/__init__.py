"""Run processes that read the database for the daemon while many clients search.

A request names a function of another module, which the process runs.
"""
