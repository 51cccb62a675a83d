"""Where the links and pictures of a document may lead: to other documents, or out of the page when they are clicked."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from gnod.errors import GnoError
from gnod.types import SCHEME, format_uri, parse_uri

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_EXTERNAL = ("http://", "https://", "mailto:")
_IGNORED = re.compile(r"[\x00-\x20\x7f]+")  # browsers drop some of them, even inside of a scheme
ANCHOR = "doc-"


class Links(NamedTuple):
    """Of one document. `path` is relative to the collection, with slashes."""

    collection: str
    path: str

    def address(self, link: str) -> str | None:
        """Return what a link becomes; None: it leads nowhere.

        >>> links = Links("notes", "a/b.md")
        >>> links.address("../c d.md#top"), links.address("https://example.org"), links.address("javascript:alert(1)")
        ('/doc/notes/c%20d.md#doc-top', 'https://example.org', None)
        """
        link = _IGNORED.sub("", link)
        if is_external(link):
            return link
        target, _, fragment = link.partition("#")
        anchor = f"#{ANCHOR}{quote(unquote(fragment))}" if fragment else ""
        if not target:
            return anchor or None
        found = self._document(target)
        return None if found is None else f"/doc/{found[0]}/{quote(found[1])}{anchor}"

    def picture(self, source: str) -> str | None:
        """Return the address of a picture of the collection; None for all others, which are not loaded."""
        found = self._document(_IGNORED.sub("", source).partition("#")[0])
        return None if found is None else f"/api/image?ref={quote(format_uri(*found), safe='')}"

    def _document(self, target: str) -> tuple[str, str] | None:
        if target.startswith(SCHEME):
            try:
                return parse_uri(target)
            except GnoError:
                return None
        if _SCHEME.match(target) or target.startswith(("//", "\\")):
            return None
        path = unquote(target.partition("?")[0])
        folder = "" if path.startswith("/") else posixpath.dirname(self.path)
        path = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        return None if path in (".", "..") or path.startswith(("../", "/")) else (self.collection, path)


def is_external(link: str) -> bool:
    return _IGNORED.sub("", link).lower().startswith(_EXTERNAL)
