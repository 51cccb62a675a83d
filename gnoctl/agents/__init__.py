"""The AI agents on this machine: where each lists its MCP servers, and how an entry is added.

Knows nothing of the daemon, and of MCP only the command that serves it.
"""
