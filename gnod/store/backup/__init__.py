"""Backup and restore of a whole index as one file."""
