"""Both orders of the columns of the full-text table give the same results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.pipeline import lexical
from gnod.pipeline.query import parse_clauses
from gnod.store.database import Connection
from gnod.store.documents import columns, fulltext
from gnod.store.documents.filters import Filters
from gnod.store.postings import view
from tests.small_index import SmallIndex

WORDS = ("harbour", "crane", "tide", "ledger", "winter")
texts = st.dictionaries(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(lambda words: f"{'/'.join(words)}.md"),
    st.tuples(st.lists(st.sampled_from(WORDS)), st.lists(st.sampled_from(WORDS), min_size=1)).map(
        lambda parts: f"# {' '.join(parts[0])}\n\n{' '.join(parts[1])}\n"
    ),
    min_size=1,
)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallIndex, SmallIndex]]:
    folder: Path = tmp_path_factory.mktemp("columns")
    body_first, path_first = SmallIndex(folder / "new.sqlite"), SmallIndex(folder / "old.sqlite")

    def as_before(connection: Connection) -> None:
        made = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'documents_fts'").get)
        connection.execute("DROP TABLE documents_fts")
        connection.execute(made.replace("body, title, filepath,", "filepath, title, body,"))
        assert columns.order(connection) == (0, 1, 2)

    path_first.database.submit_write(as_before).result()
    yield body_first, path_first
    body_first.close()
    path_first.close()


@given(texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
@settings(max_examples=20)
def test_both_orders_give_the_same_results(
    indexes: tuple[SmallIndex, SmallIndex], texts: dict[str, str], query: list[str]
) -> None:
    def read(connection: Connection) -> object:
        ids = [id_ for (id_,) in connection.execute("SELECT id FROM documents WHERE active ORDER BY id")]
        first = ids[0]
        clauses = parse_clauses(" ".join(query))
        terms = fulltext.weigh(connection, [fulltext.Term((fulltext.quote(word),)) for word in query])
        return (
            [(each.id - first, each.score) for each in lexical.search(connection, clauses, Filters(), limit=20).ranked],
            [(id_ - first, score) for id_, score in fulltext.survey(connection, terms, Filters(), 20).matches],
            [tuple(each)[1:] for each in fulltext.search(connection, terms, Filters(), 20, average=7.0).best],
            [places for _, places in fulltext.body_positions(connection, fulltext.quote(query[0]), ids)],
            [id_ - first for id_ in fulltext.with_long_bodies(connection, ids, 3)],
            view._counts(connection, fulltext.quote(query[0]), None)[1].tolist(),
        )

    found = []
    for index in indexes:
        index.add(texts)
        found.append(index.database.submit_read(read).result())
        index.remove(*texts)
        index.database.submit_write(lambda c: c.execute("DELETE FROM documents").get).result()
    assert found[0] == found[1]


def test_a_new_index_has_the_body_first(indexes: tuple[SmallIndex, SmallIndex]) -> None:
    assert indexes[0].database.submit_read(columns.order).result() == (2, 1, 0)
