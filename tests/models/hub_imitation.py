"""A Hugging Face hub on loopback, for downloads of single files, with faults on demand.

    with HubImitation({"org/repo": {"model.gguf": data}}) as hub:
        hub.drops = [1000]            # the first answer ends after 1000 bytes
        ... HF_ENDPOINT=hub.url ...
        hub.requests                  # what was asked

`python -m tests.models.hub_imitation FILE…` serves files as `org/repo` until Ctrl-C, for trying things by hand.
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, Self

import gguf
import numpy as np

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOGIN_PAGE = b"<!DOCTYPE html>\n<html><title>Wi-Fi login</title></html>\n"

_RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_API = re.compile(r"/api/models/([^/]+/[^/]+)/(tree|revision)/([^/?]+)")


class Asked(NamedTuple):
    method: str
    path: str
    start: int
    token: str | None


class HubImitation:
    """Behaves correctly until its settings say otherwise. All settings may change while it runs."""

    def __init__(self, repositories: dict[str, dict[str, bytes]], *, tls: Path | None = None) -> None:
        self.repositories = repositories
        self.commit = COMMIT
        """The only revision besides main."""
        self.requests: list[Asked] = []
        self.sent: Counter[str] = Counter()
        """An upper bound of the body bytes sent, by the last part of the path."""
        self.drops: list[int] = []
        """Each GET of a file uses one entry: the connection closes after this many bytes. Empty: never."""
        self.drops_for_ever = False
        self.ignores_ranges = False
        self.announced: int | None = None
        self.etag: str | None = None
        self.status: int | None = None
        self.error_code: str | None = None
        self.page: bytes | None = None
        """The body to send instead of a file's content, after the file's headers."""
        self.is_captive = False
        """Answer everything with a page, like a Wi-Fi with a login page."""
        self.redirects_to: str | None = None
        """The place of the files: the hub answers with their headers and this address."""
        self.mirrors: str | None = None
        """Redirect every request to this hub."""
        self.refusals: list[int] = []
        """Each GET of a file uses one entry and answers with this status; 0: with the file."""
        self.holds_after: int | None = None
        """Send this many bytes of a file, then nothing until `release` is called."""
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    @property
    def downloads(self) -> list[Asked]:
        return [each for each in self.requests if each.method == "GET" and "/resolve/" in each.path]

    def release(self) -> None:
        self.holds_after = None
        self._released.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                hub._answer(self)

            def do_GET(self) -> None:
                hub._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        first, _, last = request.headers.get("Range", "").removeprefix("bytes=").partition("-")
        start = int(first or 0)
        self.requests.append(Asked(request.command, request.path, start, request.headers.get("Authorization")))
        is_file = request.command == "GET" and "/resolve/" in request.path
        if is_file and self.refusals and (status := self.refusals.pop(0)):
            self._send(request, status, b"<Error>Request has expired</Error>", {})
        elif self.mirrors:
            self._send(request, 307, b"", {"Location": f"{self.mirrors}{request.path}"})
        elif self.is_captive:
            self._send(request, 200, LOGIN_PAGE, {"Content-Type": "text/html"})
        elif self.status is not None:
            error = {"X-Error-Code": self.error_code, "X-Error-Message": "no"} if self.error_code else {}
            self._send(request, self.status, b"no", error)
        elif (match := _API.match(request.path) or _RESOLVE.match(request.path)) and not self._knows(match):
            self._send(request, 404, b"", {"X-Error-Code": "RevisionNotFound"})
        elif match := _API.match(request.path):
            self._send_api(request, match[1], match[2])
        elif (match := _RESOLVE.match(request.path)) and match[3] in self.repositories.get(match[1], {}):
            self._send_file(request, self.repositories[match[1]][match[3]], start, int(last) + 1 if last else None)
        elif match:
            code = "EntryNotFound" if match[1] in self.repositories else "RepoNotFound"
            self._send(request, 404, b"", {"X-Error-Code": code, "X-Repo-Commit": self.commit})
        else:
            self._send(request, 404, b"", {})

    def _knows(self, match: re.Match[str]) -> bool:
        return match[match.lastindex or 0] in ("main", self.commit) or match[2] in ("main", self.commit)

    def _send_api(self, request: BaseHTTPRequestHandler, repository: str, question: str) -> None:
        if repository not in self.repositories:
            self._send(request, 404, b"", {"X-Error-Code": "RepoNotFound"})
            return
        if question == "revision":
            self._send(request, 200, b"{}", {"Content-Type": "application/json"})
            return
        files = self.repositories[repository].items()
        tree = [{"type": "file", "path": path, "size": len(data), "oid": "0" * 40} for path, data in files]
        self._send(request, 200, json.dumps(tree).encode(), {"Content-Type": "application/json"})

    def _send_file(self, request: BaseHTTPRequestHandler, data: bytes, start: int, end: int | None) -> None:
        etag = self.etag or hashlib.sha256(data).hexdigest()
        headers = {
            "X-Repo-Commit": self.commit,
            "X-Linked-Etag": f'"{etag}"',
            "ETag": f'"{etag}"',
            "X-Linked-Size": str(len(data) if self.announced is None else self.announced),
            "Accept-Ranges": "bytes",
        }
        if self.redirects_to:
            self._send(request, 302, b"", {**headers, "Location": f"{self.redirects_to}{request.path}"})
            return
        if self.page is not None and request.command == "GET":
            self._send(request, 200, self.page, headers)
            return
        status, body = 200, data
        if (start or end) and not self.ignores_ranges:
            if start >= len(data):
                self._send(request, 416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            status, body = 206, data[start:end]
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(data)}"
        self._send(request, status, body, headers)

    def _send(
        self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str | None]
    ) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value or "")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "HEAD":
            return
        limit = len(body)
        self.sent[request.path.rpartition("/")[2]] += limit
        if "/resolve/" in request.path and status in (200, 206):
            if self.drops_for_ever:
                limit = 0
            elif self.drops:
                limit = min(limit, self.drops.pop(0))
        if self.holds_after is not None:
            request.wfile.write(body[: self.holds_after])
            request.wfile.flush()
            self._released.wait(60)
            request.close_connection = True
            return
        request.wfile.write(body[:limit])
        if limit < len(body):
            request.close_connection = True


def small_model(path: Path, *, size: int = 100_000, parts: int = 1) -> bytes:
    """Write a real GGUF file with one tensor of `size` numbers and a few words, and return its bytes."""
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("small")
    writer.add_token_list(["[PAD]", "[UNK]", "▁the", "▁cat"])
    writer.add_token_scores([0.0, 0.0, -1.0, -2.0])
    if parts > 1:
        writer.add_uint16("split.count", parts)
    values = np.random.default_rng(7).standard_normal(size, dtype=np.float32)
    writer.add_tensor("token_embd.weight", values.reshape(-1, 100))
    writer.add_tensor("token_embd_norm.weight", np.ones(100, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def main() -> None:
    files = {Path(name).name: Path(name).read_bytes() for name in sys.argv[1:]}
    with HubImitation({"org/repo": files}) as hub:
        sys.stdout.write(f"HF_ENDPOINT={hub.url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
