"""Output for people and programs: results as lines, wording, safe text, progress.

Calls no daemon, and knows no command.
"""
