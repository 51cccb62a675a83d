"""Work that waits until the machine has time for it: embedding, text recognition, tuning.

Here is when it is done and what blocks it. How a chunk is embedded or a page is recognised is in `gnod.ingest`.
"""
