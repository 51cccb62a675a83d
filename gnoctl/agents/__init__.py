"""Find the AI agents on this machine and the files that list their MCP servers, and add an entry.

Must not depend on the daemon; the command that serves MCP is the only one it uses.
"""
