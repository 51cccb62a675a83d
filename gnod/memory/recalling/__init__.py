"""Search memories: from a query to ranked results. `recall` is the entry point; `ranking` has the rules and their
constants.

This package stores nothing. All modules except `recall` compute from data in RAM.
"""
