"""Output for people and programs: results as lines, wording, safe text, progress.

Must not depend on commands or call the daemon.
"""
