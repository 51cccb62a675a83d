"""The program under fuzzing: one real index, and one connection per input."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import shutil
import socket
import tempfile
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from gnod.config.model import parse_scope
from gnod.config.model_uris import parse as parse_model_uri
from gnod.daemon import composition
from gnod.daemon.lifecycle import Control
from gnod.errors import GnoError, InternalError
from gnod.globs import Glob
from gnod.paths import IndexPaths
from gnod.protocol.base import Params, Result
from gnod.protocol.framing import Framer, Framing, encode
from gnod.protocol.jsonrpc import encode_call
from gnod.protocol.methods import METHODS
from gnod.rpc.call import Call
from gnod.rpc.connection import ConnectionLimits, RpcConnection
from gnod.rpc.dispatcher import Dispatcher
from gnod.rpc.stats import Stats
from gnod.search.query import dates, parsing
from gnod.types import check_collection_name, parse_uri

SLOW_S = 2.0
# These methods leave the folder, use the network or take seconds: the fuzzer tests only their parameters.
ONLY_PARAMS = """
    collection.add collection.remove collection.rename context.add models.use models.pull doctor.run index.cleanup
    index.init index.embed index.backup memory.lock memory.unlock memory.move_key
"""
MEMORIES = [
    {"text": "We chose PostgreSQL over MySQL for its row security.", "type": "decision", "topics": ["postgres"]},
    {"text": "Tabs, not spaces.", "type": "preference", "topics": ["café", "C++"]},
    {"text": "東京の会議は延期された。", "namespace": "team"},
]
DOCUMENTS = {
    "deploy.md": "---\ntags: [ops, café]\nauthor: Ada\ndate: 2026-01-02\n---\n# Deployment\n\nRun node.js v1.2.3.\n",
    "d/cpp.md": "# Languages\n\nC++ and C# and snake_case, real-time, user@example.com.\n",
    "umlaut.md": "# Städte\n\nMünchen hat viele Häuser.\n",
    "ja.md": "# 知識\n\n東京で検索する。\n",
    "od[d] *.md": "# Odd\n\nThe name has brackets.\n",
}


def _glob(text: str) -> bool:
    return Glob(text).matches(text)


# The parsers of client text, called directly.
PARSERS = (
    *(parsing.parse_query, parsing.parse_text, dates.moment, _glob, parse_scope, parse_model_uri),
    *(check_collection_name, parse_uri),
)


class Accepted(Result, frozen=True, kw_only=True):
    pass


def seeds() -> dict[str, bytes]:
    """Return a request for every method with every parameter, in both framings."""
    made = {}
    for name, method in METHODS.items():
        full = {f.encode_name: _sample(f.encode_name, f.type) for f in msgspec.structs.fields(method.params)}
        for framing in Framing:
            made[f"{name}-{framing.value}"] = encode(encode_call(name, full, 1), framing)
            made[f"{name}-bare-{framing.value}"] = encode(encode_call(name, request_id="a"), framing)
    cancel = encode_call("$/cancelRequest", {"id": 1})
    search = encode_call("search.lexical", {"query": 'node.js "snake case" -gpt'}, 1)
    made["batch"] = b"[" + b",".join([search, cancel, encode_call("daemon.status", request_id=2)]) + b"]\n"
    made["several"] = search + b"\n" + cancel + b"\n" + search + b"\n"
    return made


_SAMPLES = {
    "collections": ["notes"],
    "namespaces": ["personal", "team"],
    "types": ["fact"],
    "topics": ["postgres"],
    "records": MEMORIES,
    "text": "Tabs, not spaces.",
    "scope": "notes",
    "name": "notes",
    "query": "node.js -gpt",
    "question": "what is run?",
    "ref": "notes/deploy.md:3",
    "since": "7d",
    "until": "2026-01-02",
}


def _sample(name: str, kind: object) -> object:
    if name in _SAMPLES:
        return _SAMPLES[name]
    text = str(kind)
    if "list" in text:
        return ["ops"]
    if "dict" in text:
        return {"GNO_OFFLINE": "1"}
    if "bool" in text:
        return True
    if "float" in text or "int" in text:
        return 1
    return "convex" if "Literal" in text else "a"


class Target:
    def __init__(self, faults: Path) -> None:
        self.faults = 0
        self._folder = faults
        self._seen: set[str] = set()
        self._found: list[BaseException] = []
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Target:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._machine = Path(tempfile.mkdtemp(prefix="gnod-fuzz-", dir="/tmp"))
        self._loop.set_exception_handler(lambda _, context: self._noticed(context.get("exception"), context["message"]))
        logging.getLogger("gnod").addHandler(_Listener(self._noticed))
        logging.getLogger("gnod").propagate = False
        self._loop.run_until_complete(self._start())
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._loop.run_until_complete(self._services.close())
        shutil.rmtree(self._machine, ignore_errors=True)

    async def _start(self) -> None:
        notes = self._machine / "notes"
        for name, text in DOCUMENTS.items():
            (notes / name).parent.mkdir(parents=True, exist_ok=True)
            (notes / name).write_text(text)
        places = IndexPaths(
            index="default",
            config_dir=self._machine / "config",
            data_dir=self._machine / "data",
            cache_dir=self._machine / "cache",
            socket=self._machine / "s",
        )
        os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"  # not the user's keyring
        self._stats = Stats()
        self._services = await composition.start(places, self._stats, Control(), log_level="warning")
        dispatcher = Dispatcher(self._services.handlers)
        add = encode_call("collection.add", {"path": str(notes), "name": "notes"}, 1)
        sync = encode_call("index.sync", request_id=1)
        self._dispatcher = dispatcher
        unlock = encode_call("memory.unlock", {"passphrase": "a secret"}, 1)
        memories = encode_call("memory.import", {"records": MEMORIES}, 1)
        for request in (add, sync, unlock, memories):
            answers = await self._exchange(request + b"\n")
            assert b'"result"' in answers, answers
        self._dispatcher = Dispatcher({**self._services.handlers, **dict.fromkeys(ONLY_PARAMS.split(), _accept)})

    def one_input(self, data: bytes) -> None:
        """Run one input. Faults are recorded and not raised, so that the run continues."""
        started = time.process_time()
        self._found = []
        try:
            _check_splits(data)
            _check_parsers(data)
            for line in self._loop.run_until_complete(self._answers(data)):
                answer = json.loads(line)
                for one in answer if isinstance(answer, list) else [answer]:
                    if one.get("error", {}).get("code") == InternalError.code:
                        raise AssertionError(f"an internal error: {one}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            self._found.append(error)
        took = time.process_time() - started
        if took > SLOW_S:
            self._found.append(TimeoutError(f"{took:.1f} s of processor time"))
        for each in self._found:
            self._keep(data, each)

    async def _answers(self, data: bytes) -> list[bytes]:
        return Framer(2**30).feed(await self._exchange(data)) if data else []

    async def _exchange(self, data: bytes) -> bytes:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        limits = ConnectionLimits(message_bytes=1024 * 1024)
        connection = RpcConnection(reader, writer, self._dispatcher, self._stats, limits)
        served = asyncio.create_task(connection.run())
        answers, sender = await asyncio.open_unix_connection(sock=ours)
        sender.write(data)
        sender.write_eof()
        try:
            async with asyncio.timeout(60):
                got = await answers.read()
                await served
        finally:
            sender.close()
            served.cancel()
        return got

    def _noticed(self, error: BaseException | None, message: str) -> None:
        self._found.append(error or RuntimeError(message))

    def _keep(self, data: bytes, error: BaseException) -> None:
        frames = [f"{f.filename}:{f.name}" for f in traceback.extract_tb(error.__traceback__) if "/gnod/" in f.filename]
        kind = f"{type(error).__name__} {' '.join(frames[-2:])}" + ("" if frames else str(error)[:40])
        if kind in self._seen:
            return
        self._seen.add(kind)
        self.faults += 1
        name = hashlib.sha256(kind.encode()).hexdigest()[:8]
        (self._folder / f"{name}.input").write_bytes(data)
        words = "".join(traceback.format_exception(error))
        (self._folder / f"{name}.txt").write_text(f"{kind}\n\n{words}", errors="backslashreplace")
        print(f"FAULT {name}: {kind!a}: {str(error)[:200]!a}", flush=True)


class _Listener(logging.Handler):
    """Collects exceptions from the log: the dispatcher sends clients no details."""

    def __init__(self, on_fault: Any) -> None:
        super().__init__(logging.WARNING)
        self._on_fault = on_fault

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self._on_fault(record.exc_info[1], record.getMessage())


async def _accept(_params: Params, _call: Call) -> Accepted:
    return Accepted()


def _check_splits(data: bytes) -> None:
    """Check that splitting the bytes does not change the messages."""
    middle = len(data) // 3
    whole, parts, drops = [_read(pieces) for pieces in ([data], [data[:middle], data[middle:]], _bytewise(data))]
    assert whole == parts == drops, "a split changes what the bytes mean"


def _bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(min(len(data), 300))] + [data[300:]]


def _read(pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    framer = Framer(64 * 1024)
    got: list[bytes] = []
    try:
        for piece in pieces:
            if piece:
                got += framer.feed(piece)
        got += framer.finish()
    except GnoError:
        pass
    return got, framer.fault.message if framer.fault else None


def _check_parsers(data: bytes) -> None:
    text = data[:512].decode("utf-8", "replace")
    for parse in PARSERS:
        with contextlib.suppress(GnoError, ValueError):  # a clean error
            parse(text)
