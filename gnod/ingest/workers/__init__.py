"""Run the worker processes that read files: the pool in the daemon, the process and its limits, and the jobs.

`gnod.ingest.formats`, `gnod.ingest.prepare` and `gnod.ingest.ocr` define how a worker processes a file.
"""
