"""HTTP servers that only this user's programs on this machine can reach: sockets, connections, start and end of
uvicorn.

Must not depend on what is served: the page (`gnoctl.web`) and the bridge (`gnoctl.mcp`) decide who may request what.
"""

HOST = "127.0.0.1"
