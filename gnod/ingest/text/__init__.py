"""Process Markdown for the store: canonical form, frontmatter, inline fields, outline, chunks, terms. Pure.

`gnod.ingest.code` makes chunks of source code, `gnod.ingest.links` finds links, and `gnod.analysis` handles languages
and stems.
"""
