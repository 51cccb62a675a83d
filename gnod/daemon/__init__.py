"""The life of the process: lock, socket, signals, logs, and the composition root."""
