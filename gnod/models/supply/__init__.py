"""Gets models: the catalogue, the choice for a machine, the download, and the files of an encoder.

This package does not run models.
"""
