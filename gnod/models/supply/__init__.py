"""Getting a model: which ones there are, which one fits the machine, its download, and the files of an encoder.

Computes with no model.
"""
