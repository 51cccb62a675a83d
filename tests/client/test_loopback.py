"""The server on loopback that the page and the bridge for agents share."""

from __future__ import annotations

import asyncio
import socket

from gnoctl.loopback.server import listen


async def test_a_body_does_not_wait_until_the_client_confirms_its_header() -> None:
    accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(bool(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    sock = listen(0)
    async with await asyncio.start_server(connected, sock=sock):
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        assert await accepted
        await reader.read()
        writer.close()
        await writer.wait_closed()
