"""The commands for memories, and the reader of agents' sessions.

`gnoctl.printing.memories` formats the memories.
"""
