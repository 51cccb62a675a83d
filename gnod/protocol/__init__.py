"""The wire: framing, JSON-RPC 2.0 and the methods with their types. Knows no sockets and no daemon."""
