"""What all formats share: what a converter declares and returns, decoding, limits, unpacking, pictures.

It does not know single formats; those are in `gnod.ingest.formats`.
"""
