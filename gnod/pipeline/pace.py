"""How fast models are on this machine, and so what is worth asking them within a query's time. Knows no model."""

from __future__ import annotations

from typing import NamedTuple

# Less of a document than that is not worth reading, and an order of fewer documents than that not worth changing.
_MIN_CHARACTERS = 400
MIN_DOCUMENTS = 3
# Until it is known how fast the model reads: a small one on two cores.
_FIRST_CHARACTERS_PER_S = 4000.0
# The share of the time that is planned to be used: the rest is for what was not foreseen.
_PLANNED = 0.8
_FORGETTING = 0.3
_HOPE = 1.1
# What a query and a model's template add to each document, roughly.
FRAME_CHARACTERS = 200


class Plan(NamedTuple):
    """How many documents are read, and how many characters of each at most."""

    documents: int
    characters: int


class Pace:
    """How fast a reranker reads on this machine, learned from what it did."""

    def __init__(self) -> None:
        self.characters_per_s = _FIRST_CHARACTERS_PER_S

    def learn(self, characters: int, took_s: float) -> None:
        """`characters`: 0 when nothing came in that time."""
        if took_s > 0:
            self.characters_per_s += _FORGETTING * (characters / took_s - self.characters_per_s)

    def plan(self, documents: int, query: str, window_characters: int, limit_s: float) -> Plan | None:
        """Return what can be read in the time: shorter passages first, then fewer documents. None: not enough to be
        worth it."""
        enough = min(documents, MIN_DOCUMENTS)
        frame = len(query) + FRAME_CHARACTERS
        readable = self.characters_per_s * limit_s * _PLANNED
        room = window_characters - len(query)
        characters = min(room, int(readable / max(documents, 1)) - frame)
        if characters < _MIN_CHARACTERS:
            characters = min(room, _MIN_CHARACTERS)
            documents = min(documents, int(readable / (characters + frame)))
        if documents >= enough and characters > 0:
            return Plan(documents, characters)
        # Nothing is learned where nothing is read: a busy minute would be remembered for ever.
        self.characters_per_s *= _HOPE
        return None


_MAX_SKIPPED = 64
_PLAINLY_MORE = 1.5


class Patience:
    """Leaves a model alone that was too slow: for one query, then two, four, …; it would cost its share each time and
    never help. Who gives it plainly more time than it had is not refused."""

    def __init__(self) -> None:
        self._misses = 0
        self._skips = 0
        self._enough_s = 0.0

    def is_over(self, limit_s: float) -> bool:
        """Tell whether this query does without the model. Counts the query."""
        if self._skips == 0 or limit_s >= self._enough_s:
            return False
        self._skips -= 1
        return True

    def learn(self, limit_s: float, *, in_time: bool) -> None:
        self._misses = 0 if in_time else self._misses + 1
        self._skips = min(2 ** (self._misses - 1), _MAX_SKIPPED) if self._misses else 0
        self._enough_s = 0.0 if in_time else _PLAINLY_MORE * limit_s
