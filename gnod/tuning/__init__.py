"""Learns from a collection itself, without relevance judgements, how much its vectors should count in hybrid search."""
