"""Milvus for tests: milvus-lite as a server in its own process on loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from gnod.config.shared_addresses import SharedAddress, parse
from gnod.egress import Purpose
from gnod.models.remote.addresses import EndpointAddress
from gnod.shared.milvus.client import DEFAULT_TIMEOUT_S, MilvusConnection
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.opening import relay_to
from tests.gates import OpenGate

_START = "import sys; from milvus_lite.cmdline import main; sys.exit(main(sys.argv[1:]))"
_STARTS_WITHIN_S = 60.0


class MilvusServer:
    """The data stay in `folder` when the server is killed and started again. `token`: the token of clients."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self._folder = folder
        self._token = token
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = ["-c", _START, "server", "--data-dir", str(self._folder), "--host", "127.0.0.1"]
        arguments += ["--port", str(self.port)]
        if self._token:
            arguments = ["-m", "tests.shared.guarded_milvus", str(self._folder), str(self.port), self._token]
        self._process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError:
                assert self._process.poll() is None, "the server ended"
                time.sleep(0.05)
            else:
                return
        raise TimeoutError

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def address(self, collection: str, port: int | None = None) -> SharedAddress:
        return parse(f"milvus://127.0.0.1:{port or self.port}/team/{collection}")

    def engine(self, collection: str, timeout_s: float = 30.0) -> MilvusEngine:
        return MilvusEngine(connect_to(self.address(collection), timeout_s))


def connect_to(address: SharedAddress, timeout_s: float = DEFAULT_TIMEOUT_S) -> MilvusConnection:
    """Return a connection to an engine on this machine."""
    place = EndpointAddress([(address.host, "local")], "local")
    purpose = Purpose("publish", collections=(address.collection,), users=(address.collection,))
    return MilvusConnection(address, relay_to(address, place, OpenGate(), purpose), timeout_s=timeout_s)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
