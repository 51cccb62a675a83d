"""What is written in a query: its words, phrases and exclusions, dates, references to documents.

Fields have a package of their own. Nothing here ranks.
"""
