"""Maintain the postings: a copy of the full-text index in files beside the database, which is fast to read. The copy
can be deleted at any time; the full-text table is authoritative. See docs/adr/0052-postings.md."""
