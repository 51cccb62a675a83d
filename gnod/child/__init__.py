"""Child processes that speak msgpack frames over a socket pair. Knows nothing of what the frames say.

`process` is for the daemon, `settle` for the child, `frames` for both. A child imports neither asyncio nor psutil.
"""
