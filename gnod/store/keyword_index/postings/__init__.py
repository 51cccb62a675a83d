"""The postings: a copy of the full-text index that is fast to read, in files beside the database. It can be deleted at
any time. docs/adr/0052-postings.md says why; the full-text table stays the truth."""
