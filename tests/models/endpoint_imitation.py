"""A model server on loopback with OpenAI's interface and `/rerank`, with faults on demand.

    with EndpointImitation() as server:
        server.fault = "html"
        ... server.uri ...
        server.asked                  # what was asked

Its vectors are sums of random vectors of words, so that texts with the same words are near each other.
"""

from __future__ import annotations

import json
import re
import socket
import socketserver
import ssl
import threading
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote

import numpy as np

PAGE = b"<!DOCTYPE html>\n<html><title>Welcome to nginx!</title></html>\n"
HUGE_MB = 2

Fault = Literal["html", "hang", "fewer", "nan", "huge", "cut", "redirect", "refuse", "busy", "broken", "zero", "uneven"]


class Asked(NamedTuple):
    path: str
    body: dict[str, Any]
    key: str | None


class EndpointImitation:
    """Behaves correctly until its settings say otherwise. All settings may change while it runs."""

    def __init__(
        self, host: str = "127.0.0.1", name: str | None = None, *, path: Path | None = None, tls: Path | None = None
    ) -> None:
        """`path`: a Unix socket, instead of TCP. `tls`: a file with a key and its certificate."""
        self.asked: list[Asked] = []
        self.connections = 0
        self.received = 0
        """The number of bytes received, whatever they mean; without TLS."""
        self.on_ask: Callable[[], None] = lambda: None
        """Called with each request, before the answer."""
        self.dimensions = 32
        self.model = 1
        """Another number means another model."""
        self.key: str | None = None
        self.fault: Fault | None = None
        self.busy_times = 0
        """The number of next requests to answer with 503."""
        self.longest: int | None = None
        """Texts with more characters are refused."""
        self.is_tei = False
        self.sends_logits = False
        self.knows_grammars = True
        self.says = "Herons come back in March [1]."
        self._released = threading.Event()
        imitation = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_UNIX if path else socket.AF_INET
            allow_reuse_address = path is None

            def server_bind(self) -> None:
                socketserver.TCPServer.server_bind(self)
                self.server_port = 0 if path else self.server_address[1]

            def get_request(self) -> tuple[socket.socket, Any]:
                found = super().get_request()
                imitation.connections += 1
                return found if tls else (_Counting(imitation, found[0]), found[1])

            def handle_error(self, *_: object) -> None:  # a client that disconnected
                pass

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                imitation._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = Server(str(path) if path else (host, 0), Handler)  # type: ignore[arg-type]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        if path:
            self.base = f"http+unix://{quote(str(path), safe='')}/v1"
        else:
            self.base = f"{'https' if tls else 'http'}://{name or host}:{self._server.server_port}/v1"

    @property
    def uri(self) -> str:
        return f"{self.base}#imitation"

    @property
    def texts(self) -> list[str]:
        """Return every text of all requests."""
        return [text for each in self.asked for text in _strings(each.body)]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def release(self) -> None:
        """End the hanging requests."""
        self._released.set()
        self._released = threading.Event()

    def vector(self, text: str) -> list[float]:
        words = re.findall(r"\w+", text.lower()) or ["nothing"]
        seeds = [zlib.crc32(f"{self.model} {word}".encode()) for word in words]
        total = sum(np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds)
        return [float(value) for value in np.asarray(total) * 3.0]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        key = (request.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.asked.append(Asked(request.path, body, key))
        self.on_ask()
        if self.key and key != self.key:
            _send_json(request, {"error": {"message": f"Incorrect API key: {key}"}}, 401)
        elif self.busy_times:
            self.busy_times -= 1
            _send(request, 503, b"busy", {"Retry-After": "0"})
        elif not self._fault(request):
            self._respond(request, body)

    def _fault(self, request: BaseHTTPRequestHandler) -> bool:
        """Send a wrong answer, if a fault is set that does not depend on the content."""
        match self.fault:
            case "html":
                _send(request, 200, PAGE, {"Content-Type": "text/html"})
            case "hang":
                self._released.wait(60)
                request.close_connection = True
            case "huge":
                _send(request, 200, b"[" + b" " * HUGE_MB * 1024 * 1024 + b"]")
            case "cut":
                _send(request, 200, b'{"data": [{"embedding": [0.1,', {"Content-Length": "100000"})
                request.close_connection = True
            case "redirect":
                _send(request, 307, b"", {"Location": "http://127.0.0.1:9/v1/embeddings"})
            case "refuse":
                _send_json(request, {"error": {"message": "no such\nmodel"}}, 400)
            case "broken":
                _send(request, 500, b"Internal Server Error")
            case _:
                return False
        return True

    def _respond(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if request.path.endswith("/embeddings"):
            self._embed(request, body["input"])
        elif request.path == "/rerank" if self.is_tei else request.path.endswith("/rerank"):
            self._rerank(request, body)
        elif request.path.endswith("/chat/completions"):
            self._chat(request, body)
        else:
            _send(request, 404, b"")

    def _embed(self, request: BaseHTTPRequestHandler, texts: list[str]) -> None:
        if self.longest and any(len(text) > self.longest for text in texts):
            _send_json(request, {"error": {"message": "input is too large to process"}}, 400)
            return
        rows: list[Any] = [self.vector(text) for text in texts]
        match self.fault:
            case "fewer":
                rows.pop()
            case "nan":
                rows[-1][0] = float("nan")
            case "zero":
                rows[-1] = [0.0] * self.dimensions
            case "uneven":
                rows[-1] = rows[-1][:-1]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        # The order is arbitrary: the index says which text each vector belongs to.
        _send_json(request, {"object": "list", "data": data[::-1], "usage": {"total_tokens": 7 * len(texts)}})

    def _rerank(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        name = "texts" if self.is_tei else "documents"
        if name not in body:
            _send_json(request, {"error": f"missing field `{name}`"}, 422)
            return
        query = set(re.findall(r"\w+", body["query"].lower()))
        found = []
        for at, text in enumerate(body[name]):
            shared = len(query & set(re.findall(r"\w+", text.lower()))) / max(len(query), 1)
            found.append({"index": at, "value": 12 * shared - 6 if self.sends_logits else shared})
        ordered = sorted(found, key=lambda each: -each["value"])
        if self.is_tei:
            _send_json(request, [{"index": each["index"], "score": each["value"]} for each in ordered])
        else:
            results = [{"index": each["index"], "relevance_score": each["value"]} for each in ordered]
            _send_json(request, {"results": results, "usage": {"total_tokens": 10}})

    def _chat(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if "grammar" in body and not self.knows_grammars:
            _send_json(request, {"error": {"message": "Unrecognized request argument supplied: grammar"}}, 400)
            return
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}]
        chunks += [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in re.findall(r"\S+\s*", self.says)]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 6, "total_tokens": 17}})
        lines = [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
        stream = "".join([*lines, ": a comment\n\n", "data: [DONE]\n\n"])
        _send(request, 200, stream.encode(), {"Content-Type": "text/event-stream"})


class _Counting(socket.socket):
    """Counts what a client sends."""

    def __init__(self, imitation: EndpointImitation, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._imitation = imitation

    def recv_into(self, *arguments: Any) -> int:
        count = super().recv_into(*arguments)
        self._imitation.received += count
        return count


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _strings(each)]
        case dict():
            return [text for each in value.values() for text in _strings(each)]
    return []


def _send_json(request: BaseHTTPRequestHandler, value: object, status: int = 200) -> None:
    _send(request, status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _send(request: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
    request.send_response(status)
    for name, value in ({"Content-Length": str(len(content))} | (headers or {})).items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)
