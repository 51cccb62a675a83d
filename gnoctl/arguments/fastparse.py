"""Parse a plain command line without click: strict, and silent about what it does not understand.

For anything unusual (help, an unknown option, a missing or malformed value) it returns None, and typer parses the same
words again to explain the error. So this parser never prints, and it must never accept what typer would reject.
"""

from __future__ import annotations

from typing import Any

from gnoctl.arguments.options import Spec, build, specs
from gnoctl.command import Options, Parsed
from gnoctl.commands import load, longest_name
from gnod.errors import UsageError


def parse(words: list[str]) -> Parsed | None:
    """Return the command and its options, or None to leave the words to typer."""
    leading = _scan(words, specs(Options), stop_at_word=True)
    if leading is None:
        return None
    shared, _, rest = leading
    name = longest_name(rest)
    if name is None:
        return None
    command = load(name)
    declared = specs(command.options)
    scanned = _scan(rest[len(name.split()) :], declared, stop_at_word=False)
    if scanned is None:
        return None
    values, plain, _ = scanned
    placed = _place(plain, [spec for spec in declared if not spec.flags])
    if placed is None:
        return None
    try:
        return command, build(command.options, {**shared, **values, **placed})
    except UsageError:
        return None


def without_global_options(words: list[str]) -> list[str] | None:
    """Return the words from the command's name on; None if the options before it are not valid."""
    leading = _scan(words, specs(Options), stop_at_word=True)
    return leading[2] if leading else None


def command_name(words: list[str]) -> str | None:
    """Return the command that is named, whatever follows it."""
    return longest_name(without_global_options(words) or [])


Scanned = tuple[dict[str, Any], list[str], list[str]]


def _scan(words: list[str], declared: list[Spec], *, stop_at_word: bool) -> Scanned | None:
    """Return (option values, plain words, words that were not scanned)."""
    by_flag = {flag: spec for spec in declared for flag in spec.flags}
    values: dict[str, Any] = {}
    plain: list[str] = []
    queue = iter(range(len(words)))
    for at in queue:
        word = words[at]
        if word == "--":
            return None if stop_at_word else (values, plain + words[at + 1 :], [])
        if word == "-" or not word.startswith("-"):
            if stop_at_word:
                return values, plain, words[at:]
            plain.append(word)
            continue
        flag, attached = _split(word)
        spec = by_flag.get(flag)
        if spec is None or (spec.kind is bool and attached is not None):
            return None
        if spec.kind is bool:
            values[spec.name] = True
            continue
        text = attached if attached is not None else _value(words, next(queue, None))
        value = None if text is None else _convert(text, spec)
        if value is None:
            return None
        if spec.repeats:
            values.setdefault(spec.name, []).append(value)
        else:
            values[spec.name] = value
    return values, plain, []


def _split(word: str) -> tuple[str, str | None]:
    """Return (flag, attached value) of `--limit=5`, `-n5`, `-n` or `--limit`."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, value if equals else None
    return word[:2], word[2:] or None


def _value(words: list[str], at: int | None) -> str | None:
    if at is None or (words[at].startswith("-") and words[at] != "-"):
        return None
    return words[at]


def _convert(text: str, spec: Spec) -> str | int | float | None:
    try:
        return spec.kind(text)
    except ValueError:
        return None


def _place(plain: list[str], positional: list[Spec]) -> dict[str, Any] | None:
    """Assign the plain words to the positionals in order; the last one may take several."""
    placed: dict[str, Any] = {}
    for spec in positional:
        if spec.repeats:
            placed[spec.name], plain = plain, []
        elif plain:
            placed[spec.name], *plain = plain
        if spec.required and not placed.get(spec.name):
            return None
    return None if plain else placed
