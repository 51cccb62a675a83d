"""Optical character recognition: find installed programs, recognise the lines of a page, and order them.

It runs in separate worker processes with the lowest priority, one page at a time. Must not depend on the index or on
formats, except for the pictures of their pages. `gnod.background.ocr_backlog` decides when it runs.
"""
