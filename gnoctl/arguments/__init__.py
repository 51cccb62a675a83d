"""What is written after `gnoctl`: how a command declares its options, how words are read, what `--help` says.

Runs no command and prints no result.
"""
