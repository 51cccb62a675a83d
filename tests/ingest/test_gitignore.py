"""Test `.gitignore` against git itself on the same files."""

from __future__ import annotations

import codecs
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.config.model import CollectionConfig
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import walk

FILES = [
    *("foo", "a/foo", "a/b/foo", "a/b/foo.md", "build/foo.md", "build/b", "b", "sub/foo.md", "sub/a/b", "sub/x.tmp"),
    *("#x", "!y", "a b", "t ", "x[1]", ".hid/b", "ü.md", "*s", "sub/build/x.md"),
]
PATTERNS = [
    *("foo", "/foo", "foo/", "a/", "/a/b", "a/**", "**/b", "a/**/b", "*.md", "!foo.md", "\\#x", "\\!y", "!y", "#x"),
    *("a\\ b", "t\\ ", "t ", "x[1]", "x\\[1]", "[ab]", "[!a]", "build/*", "!build/foo.md", "!build/", ".*", "!.hid"),
    *("ü.md", "\\*s", "*", "!*/", "/*", "?", "**", "/**/foo", "a/**/", "  ", "[a-", "\\", "foo\\", "!", "/", "//a"),
    *("[[:alpha:]]", "x[[:digit:]]", "**foo", "f**o", "a/***", "***/b", "!sub", "*.tmp"),
]
GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
lines = st.lists(st.sampled_from(PATTERNS), max_size=4)


def write(root: Path, path: str, data: bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)


def listed(root: Path) -> set[str]:
    return set(walk(CollectionConfig(name="x", path=str(root), exclude=(".git",), hidden=True), IgnoreFiles()).files)


def listed_by_git(root: Path) -> set[str]:
    subprocess.run(["git", "init", "-q", str(root)], check=True, env=GIT)
    found = subprocess.check_output(["git", "ls-files", "-o", "--exclude-standard", "-z"], cwd=root, env=GIT)
    return set(found.decode().split("\0")) - {""}


@pytest.mark.slow
@example(["a/***", "!*/"], [], "\n", b"")
@given(lines, lines, st.sampled_from(["\n", "\r\n"]), st.sampled_from([b"", codecs.BOM_UTF8]))
def test_any_patterns_are_read_as_by_git(outer: list[str], inner: list[str], line_end: str, mark: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in FILES:
            write(root, path, b"x")
        write(root, ".gitignore", mark + line_end.join(outer).encode())
        write(root, "sub/.gitignore", line_end.join(inner).encode())
        assert listed(root) == listed_by_git(root)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_does_not_void_the_first_line(tmp_path: Path, encoding: str) -> None:
    write(tmp_path, "secret/a.md", b"x")
    write(tmp_path, "open.md", b"x")
    write(tmp_path, ".gitignore", "secret/\r\n*.tmp\r\n".encode(encoding))
    assert listed(tmp_path) == {".gitignore", "open.md"}
