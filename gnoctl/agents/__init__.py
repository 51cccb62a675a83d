"""The AI agents on this machine: where each lists its MCP servers, and how an entry is added.

Must not depend on the daemon, and knows only the command that serves MCP.
"""
