"""Measures whether hits in long files show the right passage."""
