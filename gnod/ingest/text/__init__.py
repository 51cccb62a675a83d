"""From Markdown to what is stored of it: the canonical form, frontmatter, inline fields, outline, chunks, terms. Pure.

Chunks of source code are in `gnod.ingest.code`, links in `gnod.ingest.links`. Languages and stems are in
`gnod.analysis`.
"""
