"""The worker processes that read files: the pool in the daemon, the process and its limits, the jobs between them.

What a worker does with a file is in `gnod.ingest.formats`, `gnod.ingest.prepare` and `gnod.ingest.ocr`.
"""
