"""Rename and move files of a collection, and correct the links to them and in them.

`plan` decides what changes. It uses `naming` (the targets and spellings of links) and `rewriting` (the links of one
file). `journal` changes the files, and can undo that.
"""
