"""The child process that fetches one model: `python -m gnod.models.fetch`.

A process of its own, because its libraries read the environment when they are imported, block, and hold memory that
is never needed again; and because killing it is how a download is cancelled. Nothing here knows asyncio.
"""
