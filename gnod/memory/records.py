"""Check, name, encrypt and decrypt memories. Pure except for randomness."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import InvalidName, InvalidParams, LimitExceeded
from gnod.memory.key.sealing import Sealer
from gnod.memory.recalling.keywords import MAX_TOPIC_CHARACTERS, folded, topic_words

PERSONAL = "personal"

MAX_TEXT_CHARACTERS = 65_536
MAX_TOPICS = 32
_NAME_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's alphabet: no characters that look alike
_NAME_CHARACTERS = 10
_DTYPE = np.dtype("<f4")

Vector = NDArray[np.float32]


class Times(NamedTuple):
    """Milliseconds since 1970. `when_ms`: when it happened. `valid_from_ms`, `valid_until_ms`: the first and the last
    moment at which it is true. None: unknown."""

    when_ms: int | None = None
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None

    def or_else(self, other: Times) -> Times:
        """Return these times, with unknown ones filled in from `other`."""
        return Times(*(theirs if ours is None else ours for ours, theirs in zip(self, other, strict=True)))


NO_TIMES = Times()


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The encrypted part of a memory. Its times are as in `Times`. `suggested`: topics taken from the text."""

    text: str
    topics: list[str]
    when_ms: int | None = None
    suggested: list[str] = []
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None

    @property
    def times(self) -> Times:
        return Times(self.when_ms, self.valid_from_ms, self.valid_until_ms)


class Memory(NamedTuple):
    """`name`: the id that users see, like m4x0q2v7ke. Times are milliseconds since 1970. `times`: stated by the client,
    or read from the text. `suggested`: topics taken from the text. `superseded_by`: the name of the memory that
    replaces this one from `superseded_ms` on. `supersedes`: whether it replaced another one."""

    id: int
    name: str
    namespace: str
    type: str
    created_ms: int
    updated_ms: int
    text: str
    topics: list[str]
    times: Times = NO_TIMES
    suggested: Sequence[str] = ()
    superseded_by: str | None = None
    superseded_ms: int | None = None
    supersedes: bool = False

    @property
    def happened_ms(self) -> int:
        """Return when it happened, or when it was stored if that is unknown."""
        return self.created_ms if self.times.when_ms is None else self.times.when_ms


_body = msgspec.msgpack.Decoder(Body)


def new_name() -> str:
    """Return a unique name: 50 random bits."""
    return "m" + "".join(secrets.choice(_NAME_ALPHABET) for _ in range(_NAME_CHARACTERS))


def checked(text: str, topics: Sequence[str], times: Times = NO_TIMES, suggested: Sequence[str] = ()) -> Body:
    """Check and normalise a memory to store. Of topics that differ only in case, keep the first. Drop suggested topics
    that were also given. Raises LimitExceeded, InvalidName, and InvalidParams for times in the wrong order."""
    clean = check_unicode(text, "the text").strip()
    if not folded(clean):
        raise LimitExceeded("the text is empty: enter a text to remember")
    if len(clean) > MAX_TEXT_CHARACTERS:
        raise LimitExceeded(
            f"a memory has at most {MAX_TEXT_CHARACTERS:,} characters, and this one has {len(clean):,}: put longer "
            "texts into a folder that gnod indexes"
        )
    by_folded: dict[str, str] = {}
    for topic in topics:
        by_folded.setdefault(folded(check_unicode(topic, "a topic")), " ".join(topic.split()))
    kept = [topic for name, topic in by_folded.items() if name]
    if len(kept) > MAX_TOPICS:
        raise LimitExceeded(f"a memory has at most {MAX_TOPICS} topics, and this one has {len(kept)}")
    if long := next((topic for topic in kept if len(topic) > MAX_TOPIC_CHARACTERS), None):
        raise LimitExceeded(f"a topic is a name of at most {MAX_TOPIC_CHARACTERS} characters: {long[:30]!r}…")
    more = [topic for topic in dict.fromkeys(suggested) if folded(topic) not in by_folded]
    _, first_ms, last_ms = times
    if first_ms is not None and last_ms is not None and first_ms > last_ms:
        raise InvalidParams("the memory would end before it begins: `valid_from` must not be after `valid_until`")
    return Body(text=clean, topics=kept, suggested=more, **times._asdict())


def check_unicode(text: str, what: str) -> str:
    """Return the text. Raises InvalidName for a lone surrogate, which cannot be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidName(f"{what} is not valid Unicode: it contains half a character") from None
    return text


def seal_body(sealer: Sealer, name: str, body: Body) -> bytes:
    return sealer.seal(msgspec.msgpack.encode(body), b"body:" + name.encode())


def open_body(sealer: Sealer, name: str, sealed: bytes) -> Body:
    """Raises MemoryDamaged."""
    return _body.decode(sealer.open(sealed, b"body:" + name.encode()))


def seal_vector(sealer: Sealer, name: str, vector: Vector) -> bytes:
    return sealer.seal(vector.astype(_DTYPE).tobytes(), b"vector:" + name.encode())


def open_vector(sealer: Sealer, name: str, sealed: bytes) -> Vector:
    """Raises MemoryDamaged."""
    found: Vector = np.frombuffer(sealer.open(sealed, b"vector:" + name.encode()), _DTYPE)
    return found


def fingerprint(sealer: Sealer, body: Body) -> bytes:
    """Return the keyed hash of the text. It ignores spaces, but not case: -P is not -p."""
    return sealer.lookup("text", " ".join(unicodedata.normalize("NFC", body.text).split()))


def topic_lookups(sealer: Sealer, body: Body) -> list[bytes]:
    """Return the keyed hashes that find a memory by topic. Suggested topics have hashes with another purpose, so that a
    search can give them less weight."""
    words = dict.fromkeys(word for topic in body.topics for word in topic_words(topic))
    suggested = dict.fromkeys(word for topic in body.suggested for word in topic_words(topic) if word not in words)
    return [sealer.lookup("topic", word) for word in words] + [sealer.lookup("suggested", word) for word in suggested]
