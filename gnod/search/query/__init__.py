"""The parts of a query: words, phrases and exclusions, dates, references to documents.

Fields have their own package. This package does not rank.
"""
