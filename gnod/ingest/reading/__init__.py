"""What all formats share: what a converter declares and returns, decoding, limits, unpacking, pictures.

Knows no particular format; those are in `gnod.ingest.formats`.
"""
