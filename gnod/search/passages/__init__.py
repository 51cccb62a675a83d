"""Cut and mark the passage of a document that answers a query best. `best_passage` is the entry point.

Other packages choose the documents. `gnod.answers` chooses the passages for answers.
"""
