"""The arguments of `gnoctl`: declare the options of a command, parse the words, and print `--help`.

Runs no command and prints no result.
"""
