"""The plain search. It does without msgspec, which would take half of the time of the whole process.

Answers `gnoctl search WORDS`, with a limit, collections and `--json`, if the daemon runs and finds something. For
everything else it returns None; then the command runs and sends the request again. It must print nothing before it is
sure, and its output must equal the output of the command. Imports only light modules.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gnoctl.arguments.parser import Misused
from gnoctl.arguments.parser import parse as parse_options
from gnoctl.arguments.plain_search_options import (
    COLLECTIONS,
    JSON,
    LIMIT,
    PEOPLE_LIMIT,
    PROGRAM_LIMIT,
    QUERY,
    split_commas,
)

if TYPE_CHECKING:
    from socket import socket

# People see the progress of a hybrid query, so the plain search answers it for programs only.
_METHODS = {"search": "search.lexical", "vsearch": "search.vector", "query": "search.query"}
_FOR_PROGRAMS_ONLY = {"query"}
_CONNECT_TIMEOUT_S = 5.0
_SILENCE_S = 1.0
_BEFORE = b'{"jsonrpc":"2.0","id":1,"result":'
_REFUSED = b'{"jsonrpc":"2.0","id":1,"error":'


class JsonObject(dict):  # type: ignore[type-arg]
    """A JSON object whose fields are attributes, as in the protocol's types; missing fields are None."""

    __getattr__ = dict.get


def run(words: list[str]) -> int | None:
    """Search, print the hits, and return the exit status; None if the command is not a plain search, or has no hits."""
    if (plain := parse(words)) is None:
        return None
    method, params, is_json = plain
    if (is_json and sys.stdout.isatty()) or (result := _ask(method, params)) is None:
        return None
    # Import them here, because the other commands do not need them.
    from gnoctl.other_version import note_once
    from gnoctl.printing import text
    from gnoctl.printing.hits import render
    from gnoctl.printing.terminal import detect

    if is_json:
        print(text.escaped(result.decode()))
        note_once()
        return int(b'"hits":[]' in result)
    import json

    found = json.loads(result, object_hook=JsonObject)
    if not found.hits:
        return None
    for line in render(found, detect()):
        print(line)
    note_once()
    return 0


def parse(words: list[str]) -> tuple[str, dict[str, object], bool] | None:
    """Return the requested method, its parameters, and whether JSON is requested; None for any other command line."""
    if not words or words[0] not in _METHODS:
        return None
    try:
        given = parse_options(words[1:], [COLLECTIONS, JSON, LIMIT, QUERY])
    except Misused:
        return None
    is_json = "json" in given
    if words[0] in _FOR_PROGRAMS_ONLY and not is_json:
        return None
    limit = given.get("limit", PROGRAM_LIMIT if is_json else PEOPLE_LIMIT)
    params = {"query": " ".join(given["query"]), "limit": limit}
    if words[0] == "vsearch":
        params["loose"] = is_json
    if names := split_commas(given.get("collections", [])):
        params["collections"] = names
    return _METHODS[words[0]], params, is_json


def _ask(method: str, params: dict[str, object]) -> bytes | None:
    """Return the daemon's result; None if it does not run, or if `_result` returns None."""
    import json
    import socket

    from gnod import folders, peer

    index = os.environ.get("GNO_INDEX") or folders.DEFAULT_INDEX
    if not index.replace("-", "").replace("_", "").isalnum():
        return None
    try:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = json.dumps(message, ensure_ascii=False)
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.settimeout(_CONNECT_TIMEOUT_S)
            path = folders.socket(index)
            daemon.connect(path)
            if peer.listener_problem(daemon, path):
                return None
            daemon.sendall(request.encode() + b"\n")
            _note_silence(daemon)
            daemon.settimeout(None)
            reply = _line(daemon)
    except (OSError, UnicodeEncodeError):
        return None
    return _result(reply)


def _result(reply: bytes) -> bytes | None:
    """Return the result in a reply; None for an error, which the command explains. Raises QuerySyntaxError, because the
    command would get the same error."""
    if reply.startswith(_BEFORE) and reply.endswith(b"}"):
        return reply[len(_BEFORE) : -1]
    if reply.startswith(_REFUSED) and reply.endswith(b"}"):
        import json

        from gnod.errors import QuerySyntaxError

        error = json.loads(reply)["error"]
        if error["code"] == QuerySyntaxError.code:
            raise QuerySyntaxError(error["message"], (error.get("data") or {}).get("details"))
    return None


def _note_silence(daemon: socket) -> None:
    """Print after a second that the daemon does not answer."""
    from select import POLLIN, poll

    waiting = poll()
    waiting.register(daemon, POLLIN)
    if not waiting.poll(_SILENCE_S * 1000):
        from gnoctl.command import announce_wait
        from gnod.paths import resolve

        announce_wait(resolve())


def _line(daemon: socket) -> bytes:
    """Return the reply, which is one line; only a part of it if the connection is lost."""
    received = []
    while data := daemon.recv(1 << 18):
        received.append(data)
        if data.endswith(b"\n"):
            break
    return b"".join(received).removesuffix(b"\n")
