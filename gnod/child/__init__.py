"""Child processes that exchange msgpack frames over a socket pair. This package must not depend on the frames' content.

`process` is for the daemon, `child_setup` for the child, `frames` for both. A child imports neither asyncio nor psutil.
"""
