"""Make regular checks of the daemon wake up together: an idle machine should sleep as long as possible."""

from __future__ import annotations

import asyncio


async def next_tick(period_s: float) -> None:
    """Sleep until the next multiple of the period, so that all checks with this period run in one turn of the loop."""
    now = asyncio.get_running_loop().time()
    await asyncio.sleep(period_s - now % period_s)
