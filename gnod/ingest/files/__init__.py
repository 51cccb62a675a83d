"""The files of a collection: walking it, what is ignored, what a sync covers, what must be read again.

Opens no file and knows no format.
"""
