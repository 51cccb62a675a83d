"""Renaming and moving files of a collection, so that the links to and in them stay right.

`plan` decides what changes, with `naming` (where links lead, and how they are written) and `rewriting` (the links of
one file). `journal` changes the files, and undoes it.
"""
