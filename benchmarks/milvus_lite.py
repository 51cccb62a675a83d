"""Run milvus-lite as a separate server process for benchmarks. The server ends with the context."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gnod.config.shared_addresses import SharedAddress, parse
from gnod.egress import Purpose
from gnod.evaluate.models import MeasurementGate
from gnod.models.remote.addresses import EndpointAddress
from gnod.shared.milvus.client import MilvusConnection
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.opening import relay_to
from gnod.store.tables.egress_journal import EgressJournal

_START = "import sys; from milvus_lite.cmdline import main; sys.exit(main(sys.argv[1:]))"
_STARTS_WITHIN_S = 60.0


def connect_to(address: SharedAddress, timeout_s: float = 60.0) -> MilvusConnection:
    """Return the connection to an engine on this machine."""
    place = EndpointAddress([(address.host, "local")], "local")
    gate = MeasurementGate("local", EgressJournal(Path(tempfile.mkdtemp()) / "egress.sqlite"))
    purpose = Purpose("publish", collections=(address.collection,), users=(address.collection,))
    return MilvusConnection(address, relay_to(address, place, gate, purpose), timeout_s=timeout_s)


class MilvusLite:
    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self._port = port
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def address(self, collection: str) -> SharedAddress:
        return parse(f"milvus://127.0.0.1:{self._port}/team/{collection}")

    def engine(self, collection: str) -> MilvusEngine:
        return MilvusEngine(connect_to(self.address(collection)))

    def flush(self, collection: str) -> None:
        """Flush memory to disk: milvus-lite, unlike a server, does not index data in memory, so that searches take
        twenty times as long."""
        from pymilvus import MilvusClient

        address = self.address(collection)
        client = MilvusClient(f"http://{address.host}:{address.port}", db_name=address.database)
        for name in client.list_collections():
            client.flush(name)
        client.close()


@contextlib.contextmanager
def milvus_lite(folder: Path) -> Iterator[MilvusLite]:
    """Run a server with its data in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    arguments = ["server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-c", _START, *arguments], stdout=subprocess.DEVNULL)
    server = MilvusLite(port, process)
    try:
        _wait(port, process)
        yield server
    finally:
        server.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        time.sleep(0.05)
    raise TimeoutError("milvus-lite did not start")
