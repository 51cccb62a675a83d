"""The child process that fetches one model: `python -m gnod.models.supply.fetch`.

It is a process because its libraries read the environment when they are imported, block, and use much memory; and
because killing it cancels a download. Nothing here uses asyncio.
"""
