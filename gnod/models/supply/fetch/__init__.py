"""The child process that fetches one model: `python -m gnod.models.supply.fetch`.

It is a separate process, because its libraries block, use much memory, and read the environment on import, and because
killing it cancels a download. This package does not use asyncio.
"""
