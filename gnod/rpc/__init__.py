"""JSON-RPC 2.0 over a Unix socket: transport, connections, dispatch, notifications. Knows no methods."""
