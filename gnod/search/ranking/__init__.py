"""From what retrievers say of documents to one order: fusion, trust in each retriever, diversity, copies.

Pure, except for looking up copies. The constants of one retriever are with that retriever.
"""
