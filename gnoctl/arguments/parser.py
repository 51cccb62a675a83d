"""Parse words by the declarations of options. Every command line goes through this parser.

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


def parse(words: list[str], declared: list[Spec]) -> dict[str, Any]:
    """Return the values in the words, by the name of their option. Raises Misused."""
    values, plain = scan(words, declared)
    return values | _place(plain, [spec for spec in declared if not spec.flags])


def scan(words: list[str], declared: list[Spec], *, stop_at_word: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Read the options up to `--` or, with `stop_at_word`, up to the first word that is not an option. Return their
    values and all other words. Raises Misused."""
    by_flag = {flag: spec for spec in declared for flag in spec.flags}
    values: dict[str, Any] = {}
    plain: list[str] = []
    waiting = words[::-1]
    while waiting:
        word = waiting.pop()
        if word.startswith("-") and word not in ("-", "--"):
            _take(word, waiting, by_flag, values)
            continue
        if word != "--":
            plain.append(word)
        if word == "--" or stop_at_word:
            return values, plain + waiting[::-1]
    return values, plain


def _take(word: str, waiting: list[str], by_flag: dict[str, Spec], values: dict[str, Any]) -> None:
    """Add the value of an option to `values`. It may be the next of the `waiting` words, which are in reverse order."""
    flag, attached = _split(word)
    if (spec := by_flag.get(flag)) is None:
        raise _unknown(flag, by_flag)
    if spec.kind is bool:
        values[spec.name] = True
        if attached is None:
            return
        if flag.startswith("--"):
            raise Misused(f"{flag} takes no value")
        waiting.append(f"-{attached}")  # -qn5 is -q -n5
        return
    if attached is None and not waiting:
        raise Misused(f"{flag} needs a value")
    value = _converted(waiting.pop() if attached is None else attached, spec)
    if spec.repeats:
        values.setdefault(spec.name, []).append(value)
    else:
        values[spec.name] = value


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
        raise Misused(f"unexpected argument {plain[0]!r}")
    return placed


def _unknown(flag: str, known: Iterable[str]) -> Misused:
    hint = did_you_mean(flag, known) if flag.startswith("--") else _QUOTED
    return Misused(f"there is no option {flag}", hint)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the most similar word; nothing if none is similar."""
    from difflib import get_close_matches

    similar = get_close_matches(word, known, n=1)
    return f"Did you mean {similar[0]}?" if similar else ""
