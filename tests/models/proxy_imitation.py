"""A proxy on loopback for plain and encrypted HTTP, with an optional password."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

_LIMIT_S = 30


class ProxyImitation:
    """`password`: for the name "me"; None: anyone may pass. `requests`: the methods and targets that passed."""

    def __init__(self, password: str | None = None) -> None:
        self.requests: list[str] = []
        self._wanted = password and f"Basic {base64.b64encode(f'me:{password}'.encode()).decode()}"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    def url(self, password: str = "") -> str:
        user = f"me:{password}@" if password else ""
        return f"http://{user}127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                proxy._pass_on(self)

            def do_GET(self) -> None:
                proxy._pass_on(self)

            def do_CONNECT(self) -> None:
                proxy._connect(self)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _is_welcome(self, request: BaseHTTPRequestHandler) -> bool:
        if self._wanted and request.headers.get("Proxy-Authorization") != self._wanted:
            request.send_response(407)
            request.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
            request.end_headers()
            return False
        self.requests.append(f"{request.command} {request.path}")
        return True

    def _pass_on(self, request: BaseHTTPRequestHandler) -> None:
        if not self._is_welcome(request):
            return
        target = urlsplit(request.path)
        onward = http.client.HTTPConnection(target.netloc, timeout=_LIMIT_S)
        path = f"{target.path}?{target.query}" if target.query else target.path
        kept = {name: value for name, value in request.headers.items() if not name.lower().startswith("proxy-")}
        onward.request(request.command, path, headers=kept)
        answer = onward.getresponse()
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(answer.read())
        onward.close()

    def _connect(self, request: BaseHTTPRequestHandler) -> None:
        if not self._is_welcome(request):
            return
        host, _, port = request.path.partition(":")
        with socket.create_connection((host, int(port)), _LIMIT_S) as onward:
            request.send_response(200)
            request.end_headers()
            back = threading.Thread(target=_copy, args=(onward, request.connection), daemon=True)
            back.start()
            _copy(request.connection, onward)
            back.join(_LIMIT_S)
        request.close_connection = True


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
