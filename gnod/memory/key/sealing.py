"""Encrypt memories, and compute the keyed hashes that look them up. The key is an argument.

AES-256-GCM with a random nonce for each text (NIST SP 800-38D allows 2^32 with one key). Each purpose has its own key,
derived by HKDF (RFC 5869), so that one reveals nothing about the others.
"""

from __future__ import annotations

import hmac
import os
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from gnod.errors import MemoryDamaged

KEY_BYTES = 32
_NONCE_BYTES = 12
_LOOKUP_BYTES = 16

# The purpose of a keyed hash. A word has a different hash for each purpose.
Subject = Literal["topic", "suggested", "text", "namespace"]


class Sealer:
    """Encrypts and decrypts with one key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(_subkey(key, b"gnod memory 1: seal"))
        self._lookup = _subkey(key, b"gnod memory 1: lookup")

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """Return the encrypted bytes. Decrypting them requires the same `context`, the record that they belong to."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, plain, context)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Return the decrypted bytes. Raises MemoryDamaged if they do not fit this key and context."""
        try:
            return self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)
        except (InvalidTag, ValueError) as error:
            raise MemoryDamaged(
                "a memory on the disk is damaged, or was stored with another key: run `gnoctl restore --memories` to "
                "restore a backup"
            ) from error

    def lookup(self, subject: Subject, text: str) -> bytes:
        """Return the keyed hash of a text. It reveals nothing without the key."""
        message = subject.encode() + b"\0" + text.encode("utf-8", "surrogatepass")
        return hmac.digest(self._lookup, message, "sha256")[:_LOOKUP_BYTES]


def _subkey(key: bytes, purpose: bytes) -> bytes:
    return HKDFExpand(SHA256(), KEY_BYTES, purpose).derive(key)
