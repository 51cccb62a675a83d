"""The sandbox of macOS, as far as its profile can be read without a Mac."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gnod.child import seatbelt
from gnod.child.system_calls import NotHeld

# Parentheses, strings with escapes, symbols: what a profile is made of.
_TOKEN = re.compile(r'\s*(?:([()])|("(?:[^"\\]|\\.)*")|([\w*/-]+))')


def rules(profile: str) -> list[list[Any]]:
    """Read the profile as Scheme does; fails if it is not well-formed."""
    stack: list[list[Any]] = [[]]
    at = 0
    while profile[at:].strip():
        token = _TOKEN.match(profile, at)
        assert token, profile[at:]
        at = token.end()
        if token[1] == "(":
            stack.append([])
        elif token[1] == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token[2] or token[3])
    (found,) = stack
    return found


@pytest.mark.parametrize("name", ["plain", 'with "quotes"', "back\\slash", "a) (allow network*", "é"])
def test_a_folder_of_any_name_is_one_string_of_the_profile(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    found = rules(seatbelt.profile(str(folder)))
    assert found[: len(rules(seatbelt.profile(None)))] == rules(seatbelt.profile(None))
    allowed = [rule for rule in found if rule[0] == "allow"]
    (_, operation, (subpath, quoted)) = allowed[-1]
    assert (operation, subpath) == ("file-write*", "subpath")
    assert re.sub(r"\\(.)", r"\1", quoted[1:-1]) == str(folder)
    assert [rule for rule in allowed if rule[1] == operation] == [
        ["allow", "file-write*", ["literal", '"/dev/null"']],
        allowed[-1],
    ]
    assert not [rule for rule in allowed if rule[1].startswith(("network", "process"))]


def test_the_path_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "var").symlink_to(tmp_path / "private")
    assert f'"{tmp_path}/private/scratch"' in seatbelt.profile(str(tmp_path / "var/scratch"))


def test_what_is_forbidden_comes_after_what_is_allowed_by_default() -> None:
    found = rules(seatbelt.profile(None))
    assert found[:2] == [["version", "1"], ["allow", "default"]]
    denied = [rule[1] for rule in found if rule[0] == "deny"]
    assert {"network*", "process-exec*", "process-fork", "signal", "file-write*"} <= set(denied)


class Library:
    """What ctypes returns on a Mac."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.profile = b""

    def sandbox_init(self, profile: bytes, flags: ctypes.c_uint64, _error: object) -> int:
        assert flags.value == 0, "the first argument is a profile, not the name of one"
        self.profile = profile
        return self._status


def test_what_holds_is_reported_only_if_the_system_accepts_it(tmp_path: Path) -> None:
    accepts = Library(0)
    assert "network" in seatbelt.confine(str(tmp_path), accepts)
    assert accepts.profile.decode() == seatbelt.profile(str(tmp_path))
    with pytest.raises(NotHeld, match="refuses"):
        seatbelt.confine(None, Library(-1))


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has it")
def test_other_systems_do_not_have_it() -> None:
    with pytest.raises(NotHeld, match="no sandbox_init"):
        seatbelt.confine(None)
