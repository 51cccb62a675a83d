"""The wire: framing, JSON-RPC 2.0 and the methods with their types. Must not depend on sockets or the daemon."""
