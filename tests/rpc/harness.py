"""A real transport on a real socket with a few small methods, and a client that speaks raw bytes."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gnod.daemon.listening import listening_socket
from gnod.errors import CollectionNotFound, GnoError
from gnod.fair_turns import Turns
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams, Params, ProgressValue, Result
from gnod.protocol.framing import Framer, Framing, encode
from gnod.protocol.jsonrpc import encode_call
from gnod.protocol.methods import Method
from gnod.rpc.connection import ConnectionLimits
from gnod.rpc.dispatcher import Call, Dispatcher
from gnod.rpc.stats import Stats
from gnod.rpc.transport import Transport
from tests.waiting import until

Message = dict[str, Any]

SECRET = "the words of a private note"


class EchoParams(Params, frozen=True, kw_only=True):
    text: Annotated[str, Meta(max_length=100)] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 1
    score: Annotated[float, Meta(ge=0, le=1)] = 0.0
    tags: list[str] = msgspec.field(default_factory=list)
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    full: bool = False


class SubtractParams(Params, frozen=True, kw_only=True):
    minuend: int
    subtrahend: int


class SizeParams(Params, frozen=True, kw_only=True):
    size: int


class TextResult(Result, frozen=True, kw_only=True):
    text: str


class SmallMethods:
    """Handlers that record which requests have started, and which were cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.cancelled = asyncio.Semaphore(0)
        self.released = asyncio.Event()
        self.turns = Turns(1)
        self.order: list[int] = []
        self.stats = Stats()

    async def echo(self, params: EchoParams, _call: Call) -> TextResult:
        return TextResult(text=params.text)

    async def wait(self, _params: NoParams, call: Call) -> TextResult:
        self.begun.release()
        call.progress(ProgressValue(stage="wait", done=0))
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        return TextResult(text="released")

    async def in_turn(self, params: SizeParams, call: Call) -> TextResult:
        """Record the number of the request, and wait as one of the requests that take turns."""
        async with self.turns:
            self.order.append(params.size)
            return await self.wait(NoParams(), call)

    async def subtract(self, params: SubtractParams, _call: Call) -> int:
        return params.minuend - params.subtrahend

    async def big(self, params: SizeParams, _call: Call) -> TextResult:
        return TextResult(text="x" * params.size)

    async def count(self, params: SizeParams, call: Call) -> TextResult:
        for done in range(1, params.size + 1):
            call.progress(ProgressValue(stage="count", done=done, total=params.size))
        return TextResult(text="counted")

    async def follow(self, _params: NoParams, call: Call) -> TextResult:
        assert call.notifications is not None
        call.notifications.start_task(1, asyncio.sleep(60))
        return TextResult(text="following")

    async def status(self, _params: NoParams, _call: Call) -> TextResult:
        return TextResult(text="well")

    async def missing(self, _params: NoParams, _call: Call) -> TextResult:
        raise CollectionNotFound("there is no collection 'x'", {"name": "x"})

    async def slow(self, _params: NoParams, _call: Call) -> TextResult:
        async with asyncio.timeout(0):
            await asyncio.sleep(60)
        return TextResult(text="late")

    async def broken(self, _params: NoParams, _call: Call) -> TextResult:
        raise ValueError(SECRET)

    async def unwritable(self, _params: NoParams, _call: Call) -> object:
        return {"value": object()}

    async def unwritable_error(self, _params: NoParams, _call: Call) -> object:
        raise GnoError("fine", {"value": object()})

    async def orphaned(self, _params: NoParams, _call: Call) -> TextResult:
        future: asyncio.Future[TextResult] = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    @property
    def handlers(self) -> dict[str, Any]:
        named = {name: getattr(self, name) for name in METHODS if "." not in name and name != "absent"}
        return {**named, "daemon.status": self.status}


_PARAMS: dict[str, type[Params]] = {
    "echo": EchoParams,
    "subtract": SubtractParams,
    "big": SizeParams,
    "count": SizeParams,
    "in_turn": SizeParams,
}
_NAMES = """
    echo wait in_turn subtract big count follow missing slow broken unwritable unwritable_error orphaned absent
    rpc.discover daemon.status
"""
METHODS = {name: Method(name, _PARAMS.get(name, NoParams), TextResult, "") for name in _NAMES.split()}


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a path short enough for a socket. The paths of pytest are too long on macOS."""
    folder = Path(tempfile.mkdtemp(prefix="gnod-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def places_in(folder: Path, index: str = "default") -> IndexPaths:
    return IndexPaths(
        index=index,
        config_dir=folder / "config",
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        socket=folder / "run" / f"{index}.sock",
    )


class Client:
    """One connection, which `async with` closes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._framer = Framer()
        self._received: list[Message] = []

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def call(
        self, method: str, params: object = msgspec.UNSET, request_id: int | str = 1, framing: Framing = Framing.LINES
    ) -> None:
        self.send(encode(encode_call(method, params, request_id), framing))

    def cancel(self, request_id: object) -> None:
        self.send(encode_call("$/cancelRequest", {"id": request_id}) + b"\n")

    async def receive(self) -> Any:
        """Return the next message. Raises EOFError if the daemon closed the connection."""
        while not self._received:
            data = await self.reader.read(65536)
            if not data:
                raise EOFError
            self._received += [json.loads(payload) for payload in self._framer.feed(data)]
        return self._received.pop(0)

    async def receive_all(self) -> list[Any]:
        """Return everything until the daemon closes the connection."""
        messages = []
        try:
            while True:
                messages.append(await self.receive())
        except EOFError:
            return messages


class Served:
    """The running transport, the methods behind it, and clients for it."""

    def __init__(self, transport: Transport, methods: SmallMethods, socket: Path) -> None:
        self.transport = transport
        self.methods = methods
        self.stats = methods.stats
        self.socket = socket

    async def client(self) -> Client:
        return Client(*await asyncio.open_unix_connection(self.socket))

    async def connections_left(self, count: int) -> None:
        """Wait until at most `count` connections are open."""
        await until(lambda: self.stats.connections <= count)

    async def exchange(self, data: bytes) -> list[Any]:
        """Send `data`, close the sending side as `nc -N` does, and return every answer."""
        async with await self.client() as client:
            client.send(data)
            client.writer.write_eof()
            return await client.receive_all()


@asynccontextmanager
async def serving(limits: ConnectionLimits | None = None, allowed_uid: int | None = None) -> AsyncIterator[Served]:
    methods = SmallMethods()
    dispatcher = Dispatcher(methods.handlers, methods.stats, METHODS)
    with short_folder() as folder, listening_socket(places_in(folder)) as listening:
        transport = Transport(dispatcher, methods.stats, limits, allowed_uid)
        await transport.listen(listening.socket)
        try:
            yield Served(transport, methods, places_in(folder).socket)
        finally:
            await transport.close(0, asyncio.Event())
