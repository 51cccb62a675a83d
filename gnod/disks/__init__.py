"""Disks and network drives that folders are on, and how to look at one that may not answer.

Must not depend on collections or their files.
"""
