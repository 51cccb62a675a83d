"""Measure retrieval on test collections, through the same ingestion and pipeline that serve every search."""
