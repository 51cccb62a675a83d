"""Find the files of a collection: walk its folder, exclude ignored files, and decide which ones must be read again.

Must not open files or depend on formats.
"""
