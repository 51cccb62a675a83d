"""Methods for single documents: text, pages as pictures, boxes of words, pictures, capture and move.

Links and searches are in other modules of `gnod.handlers`.
"""
