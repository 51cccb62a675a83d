"""What a person or a program reads: results as lines, wording, safe text, progress.

Calls no daemon, and knows no command.
"""
