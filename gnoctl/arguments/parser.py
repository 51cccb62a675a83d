"""Parse words by the declarations of options: the only parser, which every command line goes through.

A plain search uses it too, so it imports nothing slow. Must not know the commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUOTED = "To exclude a word, quote the query: gnoctl search 'rust -async'"


class Spec(NamedTuple):
    """The declaration of one option. `flags` is empty for a positional argument."""

    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    complete: str | None = None
    group: str = "Options"
    name: str = ""
    kind: type[bool] | type[int] | type[float] | type[str] = str
    repeats: bool = False
    required: bool = False


class Misused(Exception):
    """The words are wrong. `hint`: a sentence that says what the user may have meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Scanned(NamedTuple):
    """`rest`: the words from the first one that is not an option, if the scan stops there."""

    values: dict[str, Any]
    rest: list[str]


def parse(words: list[str], declared: list[Spec]) -> dict[str, Any]:
    """Return the values that the words give, by the name of their option. Raises Misused."""
    values, plain = scan(words, declared)
    return values | _place(plain, [spec for spec in declared if not spec.flags])


def scan(words: list[str], declared: list[Spec], *, stop_at_word: bool = False) -> Scanned:
    """Read the options. Raises Misused."""
    by_flag = {flag: spec for spec in declared for flag in spec.flags}
    values: dict[str, Any] = {}
    plain: list[str] = []
    queue = list(reversed(words))
    while queue:
        word = queue.pop()
        if word == "--":
            return Scanned(values, plain + queue[::-1])
        if word == "-" or not word.startswith("-"):
            plain.append(word)
            if stop_at_word:
                return Scanned(values, plain + queue[::-1])
            continue
        flag, attached = _split(word)
        if (spec := by_flag.get(flag)) is None:
            raise _unknown(flag, by_flag)
        if spec.kind is bool:
            values[spec.name] = True
            if attached and not flag.startswith("--"):
                queue.append(f"-{attached}")  # -qn5 is -q -n5
            elif attached is not None:
                raise Misused(f"{flag} takes no value")
        elif attached is None and not queue:
            raise Misused(f"{flag} needs a value")
        else:
            value = _converted(queue.pop() if attached is None else attached, spec)
            if spec.repeats:
                values.setdefault(spec.name, []).append(value)
            else:
                values[spec.name] = value
    return Scanned(values, plain)


def _split(word: str) -> tuple[str, str | None]:
    """Return (flag, attached value) of `--limit=5`, `-n5`, `-n` or `--limit`."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, value if equals else None
    return word[:2], word[2:] or None


def _converted(text: str, spec: Spec) -> str | int | float:
    try:
        return spec.kind(text)
    except ValueError:
        noun = "a whole number" if spec.kind is int else "a number"
        raise Misused(f"{spec.flags[-1]} takes {noun}, not {text!r}") from None


def _place(plain: list[str], positional: list[Spec]) -> dict[str, Any]:
    """Assign the plain words to the positionals in order; the last one may take several."""
    placed: dict[str, Any] = {}
    for spec in positional:
        if spec.repeats:
            placed[spec.name], plain = plain, []
        elif plain:
            placed[spec.name], *plain = plain
        if spec.required and not placed.get(spec.name):
            raise Misused(f"{spec.metavar} is missing")
    if plain:
        raise Misused(f"there is no place for {plain[0]!r}")
    return placed


def _unknown(flag: str, known: Iterable[str]) -> Misused:
    hint = did_you_mean(flag, known) if flag.startswith("--") else _QUOTED
    return Misused(f"there is no option {flag}", hint)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the most similar word; nothing if none is similar."""
    from difflib import get_close_matches

    similar = get_close_matches(word, known, n=1)
    return f"Did you mean {similar[0]}?" if similar else ""
