"""Globs over relative paths. Pure.

Regular expressions would take exponential time for `*a*a*a*…`. The automaton here takes time that is linear in the
length of the path, for every pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"(?:\*\*/)+|\*\*+|\*|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_MAX_REMEMBERED = 2000

# The characters of an edge: these ranges, or all characters except these ranges. A class never contains the slash.
_Class = tuple[bool, tuple[tuple[str, str], ...]]

_NOT_SLASH: _Class = (True, (("/", "/"),))
_ANYTHING: _Class = (True, ())


class Glob:
    """`*`, `?` and `[…]` match within a path part, `**/` matches any number of parts, `{a,b}` matches either.

    >>> Glob("**/*.{md,txt}").matches("a/b/c.txt"), Glob("*.md").matches("a/b.md")
    (True, False)
    """

    def __init__(self, pattern: str) -> None:
        self._edges: list[list[tuple[_Class, int]]] = []
        self._free: list[list[int]] = []  # edges that consume no character
        start = self._state()
        self._end = self._build(_TOKEN.findall(pattern.strip().removeprefix("./")), start)
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._next: list[dict[str, int]] = []
        self._start = start

    def matches(self, path: str) -> bool:
        """Return whether the whole path matches."""
        if not self._sets or len(self._sets) > _MAX_REMEMBERED:
            self._forget()
        at = 0
        for char in path:
            following = self._next[at].get(char)
            at = self._step(at, char) if following is None else following
        return self._end in self._sets[at]

    def _forget(self) -> None:
        self._sets, self._numbers, self._next = [], {}, []
        self._number(self._closed([self._start]))

    def _step(self, at: int, char: str) -> int:
        reached = (to for state in self._sets[at] for kind, to in self._edges[state] if _holds(kind, char))
        self._next[at][char] = following = self._number(self._closed(reached))
        return following

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._numbers:
            self._numbers[states] = len(self._sets)
            self._sets.append(states)
            self._next.append({})
        return self._numbers[states]

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        reached = set(states)
        waiting = list(reached)
        while waiting:
            for to in self._free[waiting.pop()]:
                if to not in reached:
                    reached.add(to)
                    waiting.append(to)
        return frozenset(reached)

    def _build(self, tokens: list[str], here: int) -> int:
        """Add the states for the tokens, starting at the state `here`; return the last state."""
        choices: list[tuple[int, int]] = []
        for token in tokens:
            if token == "{":
                choices.append((here, self._state()))
                here = self._after(here)
            elif token == "," and choices:
                self._free[here].append(choices[-1][1])
                here = self._after(choices[-1][0])
            elif token == "}" and choices:
                _, end = choices.pop()
                self._free[here].append(end)
                here = end
            elif token.endswith("**/"):
                here = self._after(here)
                inside = self._state()
                self._edges[here].append((_NOT_SLASH, inside))
                self._edges[inside] += [(_NOT_SLASH, inside), (_one("/"), here)]
            elif token[0] == "*":
                here = self._after(here)
                self._edges[here].append((_NOT_SLASH if token == "*" else _ANYTHING, here))
            else:
                to = self._state()
                self._edges[here].append((_class(token), to))
                here = to
        for _, end in reversed(choices):
            self._free[here].append(end)
            here = end
        return here

    def _after(self, here: int) -> int:
        state = self._state()
        self._free[here].append(state)
        return state

    def _state(self) -> int:
        self._edges.append([])
        self._free.append([])
        return len(self._edges) - 1


def _one(char: str) -> _Class:
    return False, ((char, char),)


def _class(token: str) -> _Class:
    if token == "?":
        return _NOT_SLASH
    if len(token) == 1:
        return _one(token)
    inner = token[1:-1]
    is_negated = inner.startswith("!")
    ranges = [(m[1], m[2] or m[1]) for m in re.finditer(r"(.)(?:-(.))?", inner[is_negated:], re.DOTALL)]
    return is_negated, (*ranges, *([("/", "/")] if is_negated else []))


def _holds(kind: _Class, char: str) -> bool:
    is_negated, ranges = kind
    return is_negated != any(first <= char <= last for first, last in ranges)
