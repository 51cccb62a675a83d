"""HTTP servers that only this user's programs on this machine can reach: the sockets, connections and life of uvicorn.

Must not depend on what is served: who may ask what is decided by the page (`gnoctl.web`) and the bridge (`gnoctl.mcp`).
"""

HOST = "127.0.0.1"
