"""Common code of all formats: the declaration and results of converters, decoding, limits, unpacking, pictures.

Must not depend on particular formats, which are in `gnod.ingest.formats`.
"""
