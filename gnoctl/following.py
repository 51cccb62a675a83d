"""Follow the changes of the index in programs that outlive the daemon. When it ends, they subscribe again, which starts
it.

Must not depend on the screen or the browser.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from gnod.client.asynchronous import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.subscription import IndexChanged, SubscribedState

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0


async def changes(client: AsyncClient) -> AsyncGenerator[SubscribedState | IndexChanged | GnoError | OSError]:
    """Yield the state at each connection, the changes after it, and errors while there is no connection. Never ends by
    itself."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            async with client.subscribe() as subscription:
                pause_s = _FIRST_PAUSE_S
                yield subscription.begun.state
                async for changed in subscription:
                    yield changed
        except (GnoError, OSError) as error:
            yield error
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
