"""Methods that read one document: its text, its pages as pictures, the boxes of its words, the pictures that it shows.

Its links and what it is found by are in the modules of `gnod.handlers`.
"""
