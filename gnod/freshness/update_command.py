"""Run a collection's update command (`git pull`, a download script) before a sync."""

from __future__ import annotations

import asyncio

from gnod.config.model import CollectionConfig
from gnod.errors import UpdateCommandFailed
from gnod.freshness.timings import UPDATE_COMMAND_S
from gnod.private import users_umask

_MAX_OUTPUT_CHARACTERS = 500


async def run_update_command(collection: CollectionConfig) -> None:
    """Run the command in the collection's folder. Raises UpdateCommandFailed with the end of its output."""
    if not collection.update_command:
        return
    try:
        process = await asyncio.create_subprocess_shell(
            collection.update_command,
            cwd=collection.path,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            umask=users_umask(),
        )
    except OSError as error:
        raise _failed(collection, error.strerror or str(error)) from None
    try:
        async with asyncio.timeout(UPDATE_COMMAND_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise _failed(collection, f"took longer than {UPDATE_COMMAND_S:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        tail = output.decode(errors="replace").strip()[-_MAX_OUTPUT_CHARACTERS:]
        raise _failed(collection, f"exit status {process.returncode}\n{tail}".strip())


def _failed(collection: CollectionConfig, reason: str) -> UpdateCommandFailed:
    return UpdateCommandFailed(
        f"the update command of collection '{collection.name}' failed ({collection.update_command}): {reason}",
        {"collection": collection.name},
    )
