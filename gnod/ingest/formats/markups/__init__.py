"""Translates formats line by line, so that each line of the Markdown is a line of the file.

`line_by_line` has the shared code. Markup that a library parses, such as HTML, is in the parent package.
"""
