"""The daemon: socket, connections, dispatch, the life of the process. Alone in knowing the wire."""
