"""The passage of a document that answers a query best, cut and marked. `best_passage` is the entry.

Which documents are shown is decided before. Passages for answers are chosen in `gnod.answers`.
"""
