"""The commands of the memories, and reading the sessions of agents for them.

How memories are drawn is in `gnoctl.printing.memories`.
"""
