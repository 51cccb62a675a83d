"""From a query to ranked memories. `recall` is the entry, `ranking` has the rules and their constants.

Stores nothing. All but `recall` is computed from what is in RAM.
"""
