"""Formats that are translated line by line, so that each line of the Markdown is a line of the file.

`line_by_line` has what they share. Markup that a library parses, such as HTML, is beside this folder.
"""
