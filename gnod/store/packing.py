"""Keep the database small with compressed texts and short keys of hashes. Must not depend on documents or their
readers.

Texts are compressed with zstd, with dictionaries made from the index's own texts. A text of 1 kB shrinks to .59 alone
and to .40 with a dictionary, which contains the words. The id of a dictionary is derived from its content, and each
compressed text names it.

The hashes of texts and chunks are keys of rows: 20 characters of base64 for the first 120 bits of a SHA-256. Such a key
is stored in up to eight places for each document.
"""

from __future__ import annotations

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from weakref import WeakKeyDictionary

import apsw

from gnod.store.connection import json_list

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor, ZstdDict, ZstdError, decompress, get_frame_info, train_dict
else:
    from backports.zstd import ZstdCompressor, ZstdDict, ZstdError, decompress, get_frame_info, train_dict

# Longer texts are stored uncompressed: they are read in parts (see `texts`), and there are few of them.
MOST_BYTES = 1 << 20
_LEVEL = 3
_DICTIONARY_BYTES = 64 << 10
# Make the first dictionary at this number of texts, and a new one each time the number has grown by this factor.
_FIRST, _GROWTH = 1_000, 4
_SAMPLES, _SAMPLE_BYTES = 1_000, 4_000
_NONE = 0
# The number of hex digits of a hash, and the number of its bytes in a key.
_DIGITS, _BYTES = 64, 15

# Dictionaries by database and id. They are large, do not change, and serve all connections.
_known: dict[tuple[str, int], ZstdDict | None] = {}
# The compressor of each writing connection, for one dictionary. Making one takes longer than compressing a short text.
_compressors: WeakKeyDictionary[apsw.Connection, tuple[int, ZstdCompressor]] = WeakKeyDictionary()


def register(connection: apsw.Connection) -> None:
    """Give a connection the SQL function `unpacked`."""

    def unpacked(*values: apsw.SQLiteValue) -> str | None:
        return unpack(connection, values[0]) if isinstance(values[0], bytes) else None

    connection.create_scalar_function("unpacked", unpacked, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)


def pack(connection: apsw.Connection, text: str) -> tuple[str, bytes | None]:
    """Return the columns `markdown` and `packed` for a text; one of them is empty."""
    data = text.encode()
    if len(data) > MOST_BYTES:
        return text, None
    compressor = _compressor(connection)
    compressor.set_pledged_input_size(len(data))
    return "", compressor.compress(data, ZstdCompressor.FLUSH_FRAME)


def unpack(connection: apsw.Connection, packed: bytes) -> str:
    """Return the uncompressed text. Raises apsw.CorruptError."""
    try:
        dictionary = _dictionary(connection, get_frame_info(packed).dictionary_id)
        return decompress(packed, zstd_dict=dictionary).decode()
    except (ZstdError, UnicodeDecodeError) as error:
        raise apsw.CorruptError(f"a compressed text is damaged: {error}") from error


def size(packed: bytes) -> int:
    """Return the length of a text in bytes of UTF-8, without reading it."""
    return get_frame_info(packed).decompressed_size or 0


def train_when_due(connection: apsw.Connection) -> None:
    """Make a dictionary for future texts if there is none, or if there are many more texts than for the last one. Takes
    .2 s each time that the number of texts has grown by a factor of four."""
    # The largest rowid is about the number of texts.
    newest = int(connection.execute("SELECT coalesce(max(rowid), 0) FROM mirrors").get)
    last = connection.execute("SELECT max(texts) FROM dictionaries").get
    if newest < (_FIRST if last is None else int(last) * _GROWTH):
        return
    try:
        trained = train_dict(_samples(connection, newest), _DICTIONARY_BYTES)
        id_, data = trained.dict_id, trained.dict_content
    except (ZstdError, ValueError):  # the texts are too short
        id_, data = _NONE, b""
    connection.execute("INSERT OR REPLACE INTO dictionaries (id, texts, data) VALUES (?, ?, ?)", (id_, newest, data))


def short_key(key: str) -> str:
    """Return the key of a hash in hex. A key is returned unchanged. Raises ValueError."""
    return urlsafe_b64encode(bytes.fromhex(key[: 2 * _BYTES])).decode() if len(key) == _DIGITS else key


def rest_of_hash(digest: str, text: str) -> bytes | None:
    """Return the part of a text's hash that its key lacks, or None if the hash is the SHA-256 of the text itself."""
    return bytes.fromhex(digest[2 * _BYTES :]) if digest != _sha256(text) else None


def hash_of_key(key: str, rest: bytes | None, text: str) -> str:
    """Return the hash of a text, in hex."""
    return _sha256(text) if rest is None else urlsafe_b64decode(key).hex() + rest.hex()


def _samples(connection: apsw.Connection, newest: int) -> list[bytes]:
    """Return the beginnings of texts from across the index."""
    rowids = list(range(1, newest + 1, max(newest // _SAMPLES, 1)))
    rows = connection.execute(
        "SELECT substr(coalesce(unpacked(packed), markdown), 1, ?) FROM mirrors"
        " WHERE rowid IN (SELECT value FROM json_each(?))",
        (_SAMPLE_BYTES, json_list(rowids)),
    )
    return [str(text).encode() for (text,) in rows]


def _compressor(connection: apsw.Connection) -> ZstdCompressor:
    """Return the connection's compressor for the newest dictionary."""
    current = int(connection.execute("SELECT id FROM dictionaries ORDER BY texts DESC LIMIT 1").get or _NONE)
    known, compressor = _compressors.get(connection, (None, None))
    if compressor is None or known != current:
        dictionary = _dictionary(connection, current)
        compressor = ZstdCompressor(_LEVEL, zstd_dict=dictionary.as_digested_dict if dictionary else None)
        _compressors[connection] = current, compressor
    return compressor


def _dictionary(connection: apsw.Connection, id_: int) -> ZstdDict | None:
    if id_ == _NONE:
        return None
    key = (connection.filename, id_)
    if key not in _known:
        data = connection.execute("SELECT data FROM dictionaries WHERE id = ?", (id_,)).get
        if data is None:
            raise apsw.CorruptError(f"the dictionary {id_} of compressed texts is missing")
        _known[key] = ZstdDict(data)
    return _known[key]


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
