"""Reads of several indexes. Each document is read from its own index."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import apsw
import pytest

from gnod.store.connection import ID_BITS, Connection, Other, beside, by_id, from_any, in_each, languages_beside

FAR = 7 << ID_BITS


@by_id
def names(connection: Connection, ids: Collection[int], suffix: str = "") -> dict[int, str]:
    found = connection.execute("SELECT id, name FROM names")
    return {id_: f"{name}{suffix}" for id_, name in found if id_ in ids}


@by_id
def numbers(connection: Connection, ids: Collection[int]) -> list[int]:
    return [id_ for (id_,) in connection.execute("SELECT id FROM names ORDER BY id DESC") if id_ in ids]


@by_id
def with_o(connection: Connection, ids: Collection[int]) -> set[int]:
    return {id_ for id_, name in connection.execute("SELECT id, name FROM names") if id_ in ids and "o" in name}


@from_any
def text(connection: Connection, name: str) -> str:
    return str(connection.execute("SELECT text FROM names WHERE name = ?", (name,)).get or "")


@in_each
def all_names(connection: Connection) -> list[str]:
    return [str(name) for (name,) in connection.execute("SELECT name FROM names ORDER BY name")]


def index(*rows: tuple[int, str]) -> Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE names (id, name, text)")
    connection.executemany("INSERT INTO names VALUES (?1, ?2, 'text of ' || ?2)", rows)
    return connection


@pytest.fixture
def own() -> Iterator[Connection]:
    connection = index((1, "one"), (2, "two"))
    with beside(connection, {7: Other(index((FAR + 1, "far one"), (FAR + 3, "far")), ("de",))}):
        yield connection


def test_each_document_is_read_in_its_index(own: Connection) -> None:
    assert names(own, [2, FAR + 1], suffix="!") == {2: "two!", FAR + 1: "far one!"}
    assert numbers(own, [FAR + 3, 1, 2, FAR + 1]) == [2, 1, FAR + 3, FAR + 1]
    assert with_o(own, [1, 2, FAR + 1, FAR + 3]) == {1, 2, FAR + 1}


def test_no_document_and_unknown_indexes(own: Connection) -> None:
    assert (names(own, []), numbers(own, []), with_o(own, [])) == ({}, [], set())
    assert names(own, [(8 << ID_BITS) + 1, 1]) == {1: "one"}


def test_data_without_an_id_are_read_from_the_index_that_has_them(own: Connection) -> None:
    assert [text(own, name) for name in ("two", "far", "nowhere")] == ["text of two", "text of far", ""]
    assert all_names(own) == ["one", "two", "far", "far one"]
    assert languages_beside(own) == {"de"}


def test_other_indexes_are_seen_for_one_piece_of_work() -> None:
    connection, other = index((1, "one")), index((FAR, "far"))
    with beside(connection, {7: Other(other)}):
        assert all_names(connection) == ["one", "far"]
    assert all_names(connection) == ["one"]
    assert names(connection, [1, FAR]) == {1: "one"}
    assert languages_beside(connection) == set()
