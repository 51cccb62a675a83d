"""The hashes of texts and chunks as keys of rows: 20 characters of base64 for the first 120 bits of a SHA-256.

Such a key stands in up to eight places for each document.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

_DIGITS = 64
_BYTES = 15


def shortened(key: str) -> str:
    """Return the key of a hash in hex; a key stays as it is. Raises ValueError."""
    return urlsafe_b64encode(bytes.fromhex(key[: 2 * _BYTES])).decode() if len(key) == _DIGITS else key


def rest_of(digest: str, text: str) -> bytes | None:
    """Return what the key of a text lacks of its hash; None where that is the SHA-256 of the text itself."""
    return bytes.fromhex(digest[2 * _BYTES :]) if digest != _sha256(text) else None


def digest_of(key: str, rest: bytes | None, text: str) -> str:
    """Return the hash of a text, in hex."""
    return _sha256(text) if rest is None else urlsafe_b64decode(key).hex() + rest.hex()


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
