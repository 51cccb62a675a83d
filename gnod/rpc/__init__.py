"""JSON-RPC 2.0 over a Unix socket: transport, connections, dispatch, notifications. Must not depend on the methods."""
