"""The AI agents on this machine: where each keeps its list of MCP servers, and how an entry gets into it.

Knows nothing of the daemon and nothing of MCP but the command that serves it.
"""
