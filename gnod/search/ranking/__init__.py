"""From what retrievers say of documents to one order: fusion, trust in each retriever, copies.

Pure, except for looking up copies. The constants of one retriever are with that retriever.
"""
