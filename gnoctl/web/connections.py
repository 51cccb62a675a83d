"""One connection of a browser: that of another user is closed, and so is one that sends no request."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from gnoctl.web import peers

FIRST_REQUEST_TIMEOUT_S = 15.0


class PageConnection(H11Protocol):
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if client is None or peers.is_foreign(client[:2], server[:2]):
            transport.abort()
        super().connection_made(transport)
        self._timer = self.loop.call_later(FIRST_REQUEST_TIMEOUT_S, self._close_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _close_silent(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.abort()
