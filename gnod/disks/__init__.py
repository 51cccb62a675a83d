"""Disks and network drives that folders are on, how to look at one that may not answer, and how
they spell and compare the names of files.

Must not depend on collections or their files.
"""
