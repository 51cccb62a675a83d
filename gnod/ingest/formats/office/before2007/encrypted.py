"""Encrypted files of Office. Excel encrypts workbooks that are only protected against changes with a password that is
the same everywhere ([MS-OFFCRYPTO] 2.4.2.3), and opens them without asking. Files with another password stay closed.
"""

from __future__ import annotations

import io

import msgspec

from gnod.ingest.reading.converter import Converter, FileContent, ole_with, password_protected
from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time
from gnod.ingest.reading.result import Converted

_KNOWN_PASSWORD = "VelvetSweatshop"
_LIMIT_S = 10.0  # a file says how often its password is hashed


def decrypted(content: FileContent) -> bytes:
    """Return the file without its encryption. Raises ConversionFailed (encrypted)."""
    import msoffcrypto

    plain = io.BytesIO()
    try:
        with limit_cpu_time(_LIMIT_S):
            file = msoffcrypto.OfficeFile(io.BytesIO(content.data))
            file.load_key(password=_KNOWN_PASSWORD, verify_password=True)
            file.decrypt(plain)
    except MemoryError:
        raise
    except (Exception, CpuTimeExceeded) as error:  # it raises any exception for another password and for damage
        raise password_protected() from error
    return plain.getvalue()


def _read(content: FileContent) -> Converted:
    return content.convert(msgspec.structs.replace(content, data=decrypted(content)))


ENCRYPTED = Converter(label="an encrypted document", signature=ole_with("EncryptedPackage"), read=_read)
