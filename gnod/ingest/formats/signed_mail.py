"""Extracts the content of signed mail from the signature that encloses it (S/MIME, `smime.p7m`).

The format is CMS SignedData, RFC 5652. Signatures are not verified.
"""

from __future__ import annotations

from collections.abc import Iterator

_SEQUENCE, _OCTETS, _CONSTRUCTED_OCTETS, _CONTENT = 0x30, 0x04, 0x24, 0xA0
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_END = b"\0\0"
_MAX_DEPTH = 20


def signed_content(data: bytes) -> bytes | None:
    """Return the signed content; None if the data has none."""
    try:
        if _SIGNED_DATA not in data[:64]:
            return None
        signed = _inside(data, _SEQUENCE, _CONTENT, _SEQUENCE)
        enclosed = next(value for tag, value in _elements(signed) if tag == _SEQUENCE)
        octets = _inside(enclosed, _CONTENT)
        return b"".join(_octets(octets, 0)) or None
    except (IndexError, StopIteration, RecursionError):
        return None


def _inside(data: bytes, *tags: int) -> bytes:
    """Return the value at a path of tags: the first element with each tag, inside the element before."""
    for path_tag in tags:
        data = next(value for tag, value in _elements(data) if tag == path_tag)
    return data


def _octets(data: bytes, depth: int) -> Iterator[bytes]:
    """Yield the pieces of an octet string, which may be nested."""
    for tag, value in _elements(data):
        if tag == _OCTETS:
            yield value
        elif tag == _CONSTRUCTED_OCTETS and depth < _MAX_DEPTH:
            yield from _octets(value, depth + 1)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data) and data[at : at + 2] != _END:
        tag, start, end = _element(data, at)
        yield tag, data[start:end]
        at = end + (2 if data[at + 1] == 0x80 else 0)


def _element(data: bytes, at: int, depth: int = 0) -> tuple[int, int, int]:
    """Return the tag, and the start and end of the value. A value without a length ends with two zero bytes (BER)."""
    tag, length = data[at], data[at + 1]
    start = at + 2
    if length < 0x80:
        return tag, start, start + length
    if length > 0x80:
        start += length - 0x80
        return tag, start, start + int.from_bytes(data[at + 2 : start], "big")
    if depth > _MAX_DEPTH:
        raise IndexError
    end = start
    while data[end : end + 2] != _END:
        _, _, last = _element(data, end, depth + 1)
        end = last + (2 if data[end + 1] == 0x80 else 0)
    return tag, start, end
