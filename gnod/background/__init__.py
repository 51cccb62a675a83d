"""Work that waits for an idle machine: embedding, text recognition, tuning.

This package decides when the work runs and what blocks it. `gnod.ingest` embeds chunks and recognises pages.
"""
