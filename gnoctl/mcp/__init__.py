"""The bridge between an AI agent and the daemon: MCP on standard input and output, JSON-RPC on the socket.

Imported by `gnoctl mcp` only: the `mcp` package takes a second and 60 MB.
"""
