"""Interpret the target of a link as a web address, a path, or a name to look up. Must not depend on the syntax of
links."""

from __future__ import annotations

import html
import re
from typing import Literal, NamedTuple
from urllib.parse import unquote

from gnod.ingest.member_names import SEPARATOR
from gnod.store.link_names import ALIAS, END, EXTERNAL, OUTSIDE, PATH, key, label_key

Addressing = Literal["url", "file", "name", "document", "label", "id", "resource"]
"""The form of a target: a relative URL, the path of a file, the name of a note, a Sphinx document, a Sphinx label, an
Org id, or an Antora resource."""

MAX_TARGET = 2000

_MOST = ("https://", "http://")  # nearly all addresses begin like this
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}:")
_WEB = re.compile(r"(?:[a-z][a-z0-9+.-]{1,30}:)?//|(?:mailto|tel|data|javascript|doi|urn|gno):", re.I)
# Antora's layout: `modules/NAME/pages/…` below the folder of a component.
_MODULE = re.compile(r"(?P<module>(?P<component>(?:.*?/)?)modules/[^/]+/)(?:pages/|partials/|nav[^/]*\Z)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


class WrittenLink(NamedTuple):
    """A link as it is written: `text[start:end]`. `kind`: its syntax. `place`: the start of its target; -1 if the text
    does not contain the target literally."""

    start: int
    end: int
    kind: str
    target: str
    addressing: Addressing = "url"
    place: int = -1


class LinkTarget(NamedTuple):
    """`key`: the name to look up. `reach`: the worst rank of a name that counts; see `link_names`."""

    key: str | None
    reach: int
    fragment: str = ""


def target_of(found: WrittenLink, path: str) -> LinkTarget | None:
    """Return the target of a link in the document at `path`; None if it is empty."""
    written = found.target.strip()
    if not written or len(written) > MAX_TARGET:
        return None
    if written.startswith(_MOST) or _WEB.match(written):
        return LinkTarget(None, EXTERNAL)
    match found.addressing:
        case "url":
            return _url(written, path)
        case "label":
            return LinkTarget(label_key("ref", written), PATH)
        case "id":
            return LinkTarget(label_key("id", written), PATH)
        case "file":
            return _at(*_parts(written), path)
        case "resource":
            return _resource(*_parts(written), path)
    return _name(written, path, END if found.addressing == "document" else ALIAS)


def _url(written: str, path: str) -> LinkTarget | None:
    """Follow RFC 3986: the fragment is cut off before percent-encodings are decoded."""
    if "\\" in written or "&" in written:
        written = html.unescape(_ESCAPE.sub(r"\1", written))
    if _SCHEME.match(written) or written.startswith("//"):
        return LinkTarget(None, EXTERNAL)
    where, _, fragment = written.partition("#")
    return _at(unquote(where.partition("?")[0]), unquote(fragment), path)


def _name(written: str, path: str, reach: int) -> LinkTarget | None:
    where, fragment = _parts(written)
    if reach == END:
        if not where.startswith("/"):
            return _at(where, fragment, path)
        where = where.lstrip("/")  # the root of the documentation may be a subfolder of the collection
    elif not where or where.startswith(("./", "../", "/")):
        return _at(where, fragment, path)
    inside = _within("", where)
    return LinkTarget(key(inside), reach, fragment) if inside else LinkTarget(None, OUTSIDE, fragment)


def _resource(where: str, fragment: str, path: str) -> LinkTarget | None:
    """Return the target of an Antora resource id, `version@component:module:family$file`. Modules of a component are in
    the same folder; modules of another component may be in any folder. Otherwise, a target without colons is a path."""
    own = _MODULE.match(path)
    where = where.rpartition("@")[2] if own or ":" in where else where
    *names, file = where.split(":")
    if not names:
        is_page = own and not where.startswith(("./", "../", "/"))
        return _at(f"/{own['module']}pages/{where}" if own and is_page else where, fragment, path)
    family, _, name = file.rpartition("$")
    inside = _within("", f"modules/{names[-1] or 'ROOT'}/{family or 'page'}s/{name}")
    if inside is None:
        return LinkTarget(None, OUTSIDE, fragment)
    if own and len(names) == 1:
        return LinkTarget(key(own["component"] + inside), PATH, fragment)
    return LinkTarget(key(inside), END, fragment)


def _parts(written: str) -> tuple[str, str]:
    where, _, fragment = written.partition("#")
    return where.strip(), fragment.strip()


def _at(where: str, fragment: str, path: str) -> LinkTarget | None:
    """Return the target at a path that is relative to the document or, with `/`, to the root of the collection."""
    if not where:
        return LinkTarget(key(path), PATH, fragment) if fragment else None
    # The root of a file in an archive is the archive, so a member cannot lead out of it.
    outer, separator, inner = path.rpartition(SEPARATOR)
    folder = "" if where.startswith("/") else inner.rpartition("/")[0]
    inside = _within(folder, where)
    if inside is None or "\0" in inside:
        return LinkTarget(None, OUTSIDE, fragment)
    return LinkTarget(key(f"{outer}{separator}{inside}"), PATH, fragment)


def _within(folder: str, where: str) -> str | None:
    """Join a folder and a path; None if the path leads above the root.

    >>> _within("a/b", "../c.md"), _within("a", "../../c.md"), _within("a", "./b//c/")
    ('a/c.md', None, 'a/b/c')
    """
    parts = folder.split("/") if folder else []
    for part in where.replace("\\", "/").split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
