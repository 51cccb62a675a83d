"""Known passages in long files: does a hit show the right one?"""
