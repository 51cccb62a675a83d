"""Test scopes, and that a walk of a part finds the same files there as a full walk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.config.model import CollectionConfig
from gnod.errors import RootUnavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import NOTHING, WHOLE, Scope, of_paths
from gnod.ingest.files.walk import Walk, walk
from gnod.store.tables.records import Between

_NAMES = st.sampled_from(["a", "b", "build", "c.md", "d.txt", ".gitignore", "link", "ä"])
_BESIDE = st.lists(
    st.sampled_from(["a", "a-", "a.", "a0", "A", "b", "\u00e9", "\uffff", "\U0001f600"]), min_size=1, max_size=3
).map("/".join)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("paths", "scope"),
    [
        (["a/b/c.md", "a/b", "a/bc.md", "d"], {"a/b", "a/bc.md", "d"}),  # each path once, without paths below another
        (["a/.gitignore", "a/x.md"], {"a"}),  # an ignore file affects its folder
        ([".gnoignore"], None),
        (["a/\udcff.md"], {"a"}),  # a name that is not valid text does the same
        (["\udcff/b/c.md"], None),
        ([f"{number}.md" for number in range(5000)], None),  # a full walk is as fast for this many paths
    ],
)
def test_the_scope_of_paths(paths: list[str], scope: set[str] | None) -> None:
    assert of_paths(paths) == (WHOLE if scope is None else Scope(frozenset(scope)))


def test_scopes_join() -> None:
    assert of_paths(["a/b"]).joined(of_paths(["a", "c"])) == of_paths(["a", "c"])
    assert of_paths(["a"]).joined(WHOLE) == WHOLE
    assert NOTHING.joined(NOTHING) == NOTHING
    assert (NOTHING.size, of_paths(["a", "b"]).size, WHOLE.size) == (0, 2, 1)


def test_a_scope_repeats_an_earlier_one_if_it_contains_nothing_else() -> None:
    assert of_paths(["a"]).repeats(of_paths(["a", "b"]))
    assert not of_paths(["a", "c"]).repeats(of_paths(["a", "b"]))
    assert not of_paths(["a"]).repeats(WHOLE)
    assert WHOLE.repeats(WHOLE)
    assert NOTHING.repeats(WHOLE)


@given(st.lists(_PATHS), st.lists(_PATHS))
def test_joining_is_the_same_as_changing_together(first: list[str], second: list[str]) -> None:
    assert of_paths(first).joined(of_paths(second)) == of_paths(first + second)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(_PATHS, st.sampled_from(["", "*.txt\n", "!d.txt\nb/\n", "text"]), max_size=12),
    links=st.dictionaries(_PATHS, _PATHS, max_size=3),
    changed=st.lists(_PATHS, max_size=5),
)
def test_the_walk_of_a_part_equals_a_full_walk(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], links: dict[str, str], changed: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    _make(root, files, links)
    collection = CollectionConfig(name="notes", path=str(root))
    whole = walk(collection, IgnoreFiles())
    scope = of_paths(changed)
    part = walk(collection, IgnoreFiles(), scope)
    assert part.files == {p: stat for p, stat in whole.files.items() if _is_in(p, scope)}
    assert part.links == {p for p in whole.links if _is_in(p, scope)}
    assert part.folders <= whole.folders


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(_BESIDE, st.just("text"), max_size=20),
    most=st.integers(1, 4),
)
def test_a_walk_in_parts_is_in_order_and_complete(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], most: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    _make(root, files, {})
    collection = CollectionConfig(name="notes", path=str(root))
    parts = list(Walk(collection, IgnoreFiles()).parts(most))
    paths = [path for part in parts for path in part.files]
    assert paths == sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    ranges = [part.under for part in parts if isinstance(part.under, Between)]
    assert [each.after for each in ranges] == [None, *(each.last for each in ranges[:-1])]
    assert ranges[-1].last is None
    assert all(_is_between(path, each) for part, each in zip(parts, ranges, strict=True) for path in part.files)


def test_each_folder_is_entered_before_it_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)

    def enter(path: str, *, is_file: bool = False) -> None:
        entered.append(path)
        if not is_file:
            (tmp_path / path / f"made-{len(entered)}.md").write_text("x")

    entered: list[str] = []
    found = walk(CollectionConfig(name="notes", path=str(tmp_path)), IgnoreFiles(), enter=enter)
    assert entered == ["", "a", "a/b"]
    assert set(found.files) == {"made-1.md", "a/made-2.md", "a/b/made-3.md"}
    assert found.folders == {"", "a", "a/b"}


def test_a_root_that_disappears_during_a_walk_is_not_empty(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / "a").mkdir(parents=True)
    (root / "a/x.md").write_text("x")
    collection = CollectionConfig(name="notes", path=str(root))

    def enter(path: str, *, is_file: bool = False) -> None:
        if path == "a":
            root.rename(tmp_path / "away")

    with pytest.raises(RootUnavailable, match="during the walk"):
        walk(collection, IgnoreFiles(), enter=enter)


def test_a_part_too_deep_for_recursion(tmp_path: Path) -> None:
    here = tmp_path
    for _ in range(700):
        here = here / "d"
    os.makedirs(here)  # noqa: PTH103
    (here / "x.md").write_text("x")
    path = "d/" * 700 + "x.md"
    assert set(walk(CollectionConfig(name="notes", path=str(tmp_path)), IgnoreFiles(), of_paths([path])).files) == {
        path
    }


def _make(root: Path, files: dict[str, str], links: dict[str, str]) -> None:
    for path, text in files.items():
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        except OSError:  # a file is in the place of a folder, or vice versa
            continue
    for path, target in links.items():
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).symlink_to(root / target)
        except OSError:
            continue


def _is_between(path: str, ends: Between) -> bool:
    return (ends.after is None or ends.after < path) and (ends.last is None or path <= ends.last)


def _is_in(path: str, scope: Scope) -> bool:
    if scope.paths is None:
        return True
    return any(path == each or path.startswith(f"{each}/") for each in scope.paths)


def test_files_that_were_written_are_kept_unless_there_are_very_many() -> None:
    one = of_paths(["a.md", "b/c.md"], frozenset({"a.md"}))
    assert one.joined(of_paths(["d.md"], frozenset({"d.md"}))).written == {"a.md", "d.md"}
    assert one.joined(WHOLE) == Scope(None, frozenset({"a.md"}))
    many = frozenset(f"{number}.md" for number in range(2001))
    assert of_paths(many, many) == WHOLE
