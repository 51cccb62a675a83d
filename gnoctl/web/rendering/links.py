"""Decide where the links and pictures of a document may lead: to other documents, or out of the page on a click."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

from gnod.errors import GnoError
from gnod.protocol.links import DocumentLink
from gnod.types import SCHEME, format_uri, parse_uri

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_EXTERNAL = ("http://", "https://", "mailto:")
_IGNORED = re.compile(r"[\x00-\x20\x7f]+")  # browsers drop some of these, even inside a scheme
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_WIKILINKS = ("wikilink", "embed", "property")
_LINE = re.compile(r"L[1-9]\d{0,8}", re.ASCII)
_PICTURES = ("png", "jpg", "jpeg", "jpe", "gif", "webp", "avif", "svg", "bmp", "tif", "tiff", "heic", "heif")
TAG = "tag:"
ANCHOR = "doc-"


class PageLinks(NamedTuple):
    """The links of one document.

    `path` is relative to the collection, with slashes. `targets`: links that are paths, by their text, as the index
    resolves them; `names`: wikilinks; `embeds`: embedded notes as safe HTML, by their text.
    """

    collection: str
    path: str
    targets: Mapping[str, DocumentLink] = {}
    names: Mapping[str, DocumentLink] = {}
    embeds: Mapping[str, str] = {}

    def address(self, link: str) -> str | None:
        """Return the address for a link; None if it leads nowhere.

        >>> links = PageLinks("notes", "a/b.md")
        >>> links.address("../c%20d.md#top"), links.address("https://example.org"), links.address("javascript:alert(1)")
        ('/doc/notes/c%20d.md#doc-top', 'https://example.org', None)
        """
        link = _IGNORED.sub("", link)
        if is_external(link):
            return link
        if link.startswith(TAG):
            return f"/search?tag={quote(unquote(link.removeprefix(TAG)), safe='')}"
        known = self.known(link)
        target, _, fragment = ((known and uri_of(known)) or link).partition("#")
        anchor = f"#{ANCHOR}{quote(unquote(fragment))}" if fragment else ""
        if not target:
            return anchor or None
        found = self._document(target)
        at = f"#{fragment}" if _LINE.fullmatch(fragment) else anchor
        return None if found is None else f"/doc/{found[0]}/{quote(found[1])}{at}"

    def known(self, link: str) -> DocumentLink | None:
        """Return how the index resolves a link to another document."""
        return None if link.startswith("#") else self.targets.get(unquote(link))

    def picture(self, source: str) -> str | None:
        """Return the address of a picture in the collection; None for all others, which are not loaded. `source`: an
        address, or `[[name]]`."""
        is_embed = source.startswith("[[") and source.endswith("]]")
        target = source[2:-2] if is_embed else _IGNORED.sub("", source)
        target = target.partition("#")[0]
        if not target or _SCHEME.match(target) or target.startswith(("//", "\\")):
            return None
        ref = format_uri(self.collection, self.path)
        kind = "embed" if is_embed else "markdown"
        return f"/api/picture?{urlencode({'ref': ref, 'target': target, 'kind': kind})}"

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


def is_picture(target: str) -> bool:
    return target.partition("#")[0].rpartition(".")[2].strip().lower() in _PICTURES


def links_of(
    collection: str, path: str, found: Iterable[DocumentLink], embeds: Mapping[str, str] | None = None
) -> PageLinks:
    targets: dict[str, DocumentLink] = {}
    names: dict[str, DocumentLink] = {}
    for link in found:
        if link.kind in _WIKILINKS:
            names.setdefault(link.target, link)
        else:
            targets.setdefault(_meant(link.target), link)
    return PageLinks(collection, path, targets, names, embeds or {})


def uri_of(link: DocumentLink) -> str | None:
    """Return the document that a link leads to, with the line; None if it leads to none."""
    return f"{link.to}#L{link.to_line}" if link.to and link.to_line else link.to


def why_nowhere(link: DocumentLink) -> str:
    if link.candidates:
        return f"ambiguous: {' or '.join(candidate.removeprefix(SCHEME) for candidate in link.candidates)}"
    return "no document in the index has this name"


def _meant(target: str) -> str:
    """Return a link target of Markdown without its escapes."""
    return unquote(html.unescape(_ESCAPE.sub(r"\1", target)))


def is_external(link: str) -> bool:
    return _IGNORED.sub("", link).lower().startswith(_EXTERNAL)
