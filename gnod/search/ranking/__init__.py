"""Combine the results of the retrievers into one ranking: fusion, trust in each retriever, copies.

Pure, except for the lookup of copies. Constants of a single retriever are in the module of that retriever.
"""
