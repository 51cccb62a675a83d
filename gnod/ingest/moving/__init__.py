"""Renaming and moving files of a collection, so that the links to and in them stay right.

`plan` decides what changes, with `path_names` (where links lead), `spelling` (how a path is written in a link) and
`rewriting` (the links of one file). `journal` changes the files, and undoes it.
"""
