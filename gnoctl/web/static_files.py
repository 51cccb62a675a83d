"""Serve the page's own files, from one flat folder of the package. Names outside its list are not found."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

SHELL = "index.html"

FOLDER = Path(str(files("gnoctl.web") / "static"))
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9]+)+\Z")


def serve(name: str, request: Request) -> Response | None:
    """Return the file; None if it does not exist."""
    if not _NAME.match(name) or (media := _TYPES.get(Path(name).suffix)) is None:
        return None
    try:
        content = (FOLDER / name).read_bytes()
    except OSError:
        return None
    return cached(request, content, media, "no-cache")


def cached(request: Request, content: bytes, media: str, control: str) -> Response:
    """Return `content`, or 304 to a browser that has it."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": control}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media, headers=headers)


def is_known(request: Request, etag: str) -> bool:
    return etag in (each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(","))
