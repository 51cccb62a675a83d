"""From files to index rows: walk, convert, canonicalise, chunk, store."""
