"""At any moment, searches with postings return the same results and scores as without them."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod import bm25
from gnod.analysis import terms
from gnod.ingest.text.document_terms import terms_of
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.lexical import LexicalResult, LexicalSurvey
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.keyword_index import fulltext, vocabulary
from gnod.store.keyword_index.columns import column_sizes, lengths
from gnod.store.keyword_index.fulltext import Conditions
from gnod.store.keyword_index.postings import building, segment, updating
from gnod.store.keyword_index.postings.building import SegmentInput, build, merge
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.segment import MOST_DOCUMENTS, Contents, Damaged, File, Segment, opened
from gnod.store.keyword_index.postings.updating import LARGER, MOST_POSTINGS, SegmentSize, worth_merging
from gnod.store.keyword_index.postings.versions import Postings, SharedPostings, folder_of
from gnod.store.keyword_index.postings.view import View, WeighedPhrase, attach, in_one_view, sample, view_of
from gnod.store.tables import changes
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import Terms
from tests.small_index import SmallIndex

PERFORM = partial(building.perform, analyse=terms_of)
WORDS = ["red", "green", "blue", "house", "boat", "river", "running", "runs", "ran", "node.js", "state-of-the-art"]
WORDS += ["O'Neil", "čas", "北京大学"]
WORDS += ["retry_with_backoff", "Straße", "C++", "x" * 80, "naïve", "ﬁre", "a", "the", "of", "\U0001f600", "𠀀"]
QUERIES = [
    *("red", "red green", "the house of the river", '"red green"', "red -green", "running boat", "node.js red"),
    *(
        '"the house" boat',
        "state-of-the-art boat",
        "北京",
        "čas OR naïve",
        "C++",
        "x" * 80,
        "nothing",
        '"green blue" -boat',
    ),
    *(
        "note 1",
        "notes/1.md",
        "retry_with_backoff",
        "hou",
        "𠀀 red",
        '"of the" -"red green"',
        "straße",
        'quo"te\0" red',
    ),
]
FILTERS = [
    Filters(),
    Filters(collections=("notes",)),
    Filters(collections=("others", "missing")),
    Filters(path_prefix="sub/"),
    Filters(excluded=frozenset({1, 2, 5})),
    Filters(collections=("notes",), since=0.0, languages=("en",)),
]


class Followed(SmallIndex):
    """A small index whose postings are updated by `catch_up`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.feed = Feed()
        self.postings = Postings(folder_of(path), terms.VERSION)
        self.database.follow(self.feed)
        self._own = self.database.open_reader()
        self._plain, self._with = self.database.open_reader(), self.database.open_reader()
        attach(self._with, self.postings)

    def step(self) -> bool:
        return updating.step(self._own, self.postings, self.feed, PERFORM)

    def catch_up(self) -> None:
        while self.step():
            pass
        while updating.compact(self.postings, PERFORM):
            pass

    def reopened(self) -> None:
        self.postings = Postings(self.postings.folder, terms.VERSION)
        self.postings.load()
        attach(self._with, self.postings)

    def view(self) -> View:
        return view_of(self._with)

    @property
    def has_segments(self) -> bool:
        return any(part.file for part in self.view().parts)

    def compare(self, query: str, filters: Filters, limit: int = 10) -> bool:
        """Compare both connections. Returns whether the view had segments."""
        clauses = parse_clauses(query)
        found = [
            (
                lexical.search(each, clauses, filters, limit=limit, prefix_last_term=True),
                lexical.survey(each, clauses, filters, depth=200),
            )
            for each in (self._plain, self._with)
        ]
        same_results(found[0][0], found[1][0])
        same_surveys(found[0][1], found[1][1])
        self._compare_few(found[0][0].expression, filters)
        every_word = found[0][0].expression.every_word()
        counts = {fulltext.frequency_of_all(each, every_word) for each in (self._plain, self._with)}
        assert len(counts) == 1
        assert words(self._plain) == words(self._with)
        return self.has_segments

    def _compare_few(self, wanted: Expression, filters: Filters) -> None:
        """Compare the best three results. The others are only counted."""
        one, other = (
            fulltext.search(
                each,
                fulltext.weigh(each, wanted.terms()),
                wanted.conditions(filters),
                3,
                every_word=wanted.every_word(),
            )
            for each in (self._plain, self._with)
        )
        same_scores(dict(one.best), dict(other.best))
        assert one.total == other.total
        both = dict(one.best).keys() & dict(other.best).keys()
        assert one.whole & both == other.whole & both


def words(connection: Connection) -> dict[str, bool]:
    """Return the words of the index, and whether each occurs in several documents."""
    return {
        each.joined[start : start + each.length]: each.frequent
        for each in vocabulary.read(connection)
        for start in range(0, len(each.joined), each.length)
    }


def same_results(one: LexicalResult, other: LexicalResult) -> None:
    same_scores({each.id: each.score for each in one.ranked}, {each.id: each.score for each in other.ranked})
    assert one.total == other.total


def same_surveys(one: LexicalSurvey, other: LexicalSurvey) -> None:
    same_scores(one.scores, other.scores)
    assert (one.beyond, one.prominence, one.coverage) == pytest.approx((other.beyond, other.prominence, other.coverage))
    assert one.named == pytest.approx(other.named)


def same_scores(one: Mapping[int, float], other: Mapping[int, float]) -> None:
    """Check that scores are equal except for rounding, which may change the order and the last document."""
    assert list(one.values()) == pytest.approx(list(other.values()))
    least = min(one.values(), default=0.0)
    for id_ in one.keys() | other.keys():
        assert one.get(id_, least) == pytest.approx(other.get(id_, least))


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    index = Followed(tmp_path / "index.sqlite")
    yield index
    index.close()


def text(rng: random.Random) -> str:
    words = rng.choices(WORDS, weights=range(len(WORDS), 0, -1), k=rng.choice([0, 3, 20, 60]))
    return f"# {' '.join(rng.choices(WORDS, k=2))}\n\n{' '.join(words)}\n"


def change(index: Followed, rng: random.Random) -> None:
    collection = rng.choice(["notes", "notes", "others"])
    paths = [f"{rng.choice(['sub/', ''])}note {rng.randrange(30)}.md" for _ in range(rng.choice([1, 1, 3, 8]))]
    kind = rng.random()
    if kind < 0.6:
        same = text(rng) if rng.random() < 0.1 else None
        options = {"source": "copies"} if same and rng.random() < 0.5 else {}
        index.add({path: same or text(rng) for path in paths}, collection, **options)
    elif kind < 0.85:
        index.remove(*paths, collection="notes")
    elif kind < 0.9:
        index.database.submit_write(lambda c: collections.remove(c, "others")).result()
    elif kind < 0.95:
        index.database.submit_write(writing.purge).result()
    else:
        index.database.submit_write(changes.leap).result()


def follow(index: Followed, rng: random.Random) -> None:
    kind = rng.random()
    if kind < 0.4:
        index.step()
    elif kind < 0.6:
        index.catch_up()
    elif kind < 0.7:
        index.feed.forget(2**62)
    elif kind < 0.8:
        index.reopened()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_any_history_gives_the_results_of_the_table(followed: Followed, seed: int) -> None:
    history(followed, random.Random(seed), 12, 4)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10, 14))
def test_long_histories_give_the_results_of_the_table(followed: Followed, seed: int) -> None:
    history(followed, random.Random(seed), 60, 8)


def history(index: Followed, rng: random.Random, changes_: int, queries: int) -> None:
    index.add({f"note {number}.md": text(rng) for number in range(10)})
    index.catch_up()
    viewed = 0
    for _ in range(changes_):
        change(index, rng)
        follow(index, rng)
        for query in rng.sample(QUERIES, queries):
            viewed += index.compare(query, rng.choice(FILTERS), rng.choice([1, 10, 200]))
    assert viewed > changes_ * queries / 2
    index.catch_up()
    assert all(index.compare(query, filters) for query in QUERIES[::2] for filters in FILTERS[:1])


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_are_those_of_fts5(followed: Followed, seed: int) -> None:
    """FTS5 has another weight of a phrase, and does not check whether the query covers a title. So this compares only
    the ratios between documents whose title lacks the phrase."""
    rng = random.Random(seed)
    followed.add({f"{number}.md": text(rng) for number in range(40)})
    followed.catch_up()
    followed.add({f"{number}.md": text(rng) for number in range(35, 45)})
    bm25 = "SELECT rowid, -bm25(documents_fts, 1.0, 3.0, 1.5) FROM documents_fts WHERE documents_fts MATCH ?"
    for phrase in ('"run"', '"hous"', '"red green"', '"riv" *', '"naiv"'):
        expected = dict(followed._plain.execute(bm25, (phrase,)))
        titled = {id_ for id_, _ in followed._plain.execute(bm25, (f"title : {phrase}",))}
        for connection in (followed._plain, followed._with):
            weighed = fulltext.weigh(connection, [fulltext.Term((phrase,))])
            found = dict(fulltext.search(connection, weighed, Conditions(), 100).best)
            assert found.keys() == expected.keys()
            ratios = [found[id_] / expected[id_] for id_ in found.keys() - titled]
            assert ratios == pytest.approx([ratios[0]] * len(ratios)) if ratios else True


@pytest.mark.parametrize("depth", [1, 5, 30])
def test_the_best_of_several_segments(followed: Followed, depth: int) -> None:
    for first in range(0, 60, 20):
        followed.add({f"{n}.md": "red " * (n * 7 % 11 + 1) + "boat " * (n % 3) for n in range(first, first + 20)})
        followed.step()
    followed.add({f"{n}.md": "red boat" for n in range(55, 65)})
    view = followed.view()
    assert len(view.parts) == 4
    phrases = [WeighedPhrase('"red"', 1.0), WeighedPhrase('"boat"', 2.0)]
    every = view.scored(phrases, bm25.COLUMN_WEIGHTS, None)
    found = view.scored(phrases, bm25.COLUMN_WEIGHTS, depth)
    assert (found.total, found.total_of_roots) == (every.total, every.total_of_roots)
    assert every.total == pytest.approx(every.scores.sum())
    least = np.sort(every.scores)[-depth]
    best = {id_: score for id_, score in zip(every.ids.tolist(), every.scores.tolist(), strict=True) if score >= least}
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == best


def test_many_documents_that_segments_lack_are_found(followed: Followed) -> None:
    followed.add({f"{number}.md": f"red house {number}" for number in range(100)})
    followed.catch_up()
    followed.add({f"{number}.md": f"red boat {number}" for number in range(20, 120)})
    assert len(followed.view()._rest) == 100
    assert all(followed.compare(query, Filters()) for query in ("red house", "boat", '"red boat"', "boa"))


def test_a_sample_is_scored_with_the_mean_length_of_all(followed: Followed) -> None:
    followed.add({f"{number}.md": "red house" + " boat" * number for number in range(80)})
    connection = followed._plain
    terms_ = fulltext.weigh(connection, [fulltext.Term(('"red"',)), fulltext.Term(('"boat"',))])
    everywhere = fulltext.survey(connection, terms_, Conditions(), 100)
    view = view_of(connection)
    ids = sorted(id_ for id_, _ in everywhere.matches)[10:75]
    with sample(connection, ids, view.length / view.size):
        found = fulltext.survey(connection, terms_, Conditions(), 100)
        assert found.documents == len(ids)
    assert dict(found.matches) == pytest.approx({id_: dict(everywhere.matches)[id_] for id_ in ids})
    assert found.total == pytest.approx(sum(dict(found.matches).values()))
    assert fulltext.size(connection) == 80


def test_a_reader_of_an_older_snapshot_sees_no_newer_postings(followed: Followed) -> None:
    followed.add({"a.md": "red house", "b.md": "green boat"})
    followed.catch_up()
    followed._with.execute("BEGIN")
    followed._plain.execute("BEGIN")
    assert followed.compare("red boat", Filters())
    followed.add({"a.md": "green river", "c.md": "red red red"})
    followed.remove("b.md")
    followed.catch_up()
    attach(followed._with, followed.postings)
    assert followed.compare("red boat", Filters())
    followed._with.execute("COMMIT")
    followed._plain.execute("COMMIT")
    assert followed.compare("red boat", Filters())
    assert followed.compare("green river", Filters())


def test_a_phrase_is_read_in_one_pass(followed: Followed) -> None:
    """This holds even if no segment has the phrase, but many documents have its words."""
    followed.add({f"{number}.md": "house red" for number in range(40)})
    followed.catch_up()
    followed.add({"new.md": "boat house red"})
    assert followed.compare("red-house boat", Filters())
    followed.add({"newer.md": "red house boat"})
    assert followed.view()
    read: list[str] = []

    def trace(_: apsw.Cursor, statement: str, __: object) -> bool:
        read.append(statement)
        return True

    followed._with.set_exec_trace(trace)
    found = lexical.search(followed._with, parse_clauses('"red house"'), Filters(), limit=9)
    followed._with.set_exec_trace(None)
    assert found.total == 1
    assert sum("note_counts" in each for each in read) == 1


def test_a_view_reads_no_change_but_the_new_ones(followed: Followed) -> None:
    """This holds even with the SQLite statistics that a daemon leaves when it ends."""
    followed.add({f"{number}.md": f"red house {number}" for number in range(300)})
    followed.catch_up()
    analyse = "ANALYZE changes; ANALYZE collections"
    followed.database.submit_maintenance(lambda connection: connection.execute(analyse).fetchall()).result()
    assert followed.view()  # reads the schema again
    followed.add({"new.md": "green boat"})
    steps = itertools.count()
    followed._with.set_progress_handler(lambda: next(steps) < 0, 1)
    assert followed.view()
    followed._with.set_progress_handler(None)
    assert next(steps) < 300


def test_postings_that_disagree_with_the_table_are_not_read(followed: Followed) -> None:
    followed.add({"a.md": "red house", "b.md": "green boat"})
    followed.catch_up()
    newest = followed.postings.newest
    assert newest
    path = followed.postings.new_file()
    other = followed.postings.part(path, segment.write(path, build([DOCUMENT], terms_of)))
    followed.postings.publish(newest._replace(parts=(other,)))
    assert not followed.compare("red", Filters())


DOCUMENT = SegmentInput(1, "#00000001", 1, 0, Terms("a md", "red", "red house red"))


def test_missing_terms_are_not_replaced_by_former_ones(followed: Followed) -> None:
    followed.add({f"{n}.md": "red house" for n in range(5)})
    followed.database.follow(Feed())  # the terms arrive later
    followed.add({"3.md": "green boat"})
    followed.catch_up()
    assert all(followed.compare(query, Filters()) for query in ("red", "green", "boat house"))


def test_a_damaged_file_is_noticed(followed: Followed) -> None:
    followed.add({f"{number}.md": "red house" for number in range(9)})
    followed.catch_up()
    folder = followed.postings.folder
    (segment,) = folder.glob("*.segment")
    content = segment.read_bytes()
    for damaged in (content[:-9] + b"x" + content[-8:], content[:40], b""):
        segment.write_bytes(damaged)
        with pytest.raises(Damaged):
            Postings(folder, terms.VERSION).load()
    (folder / "manifest.json").write_bytes(b"{}")
    with pytest.raises(Damaged):
        Postings(folder, terms.VERSION).load()


def test_a_file_that_is_truncated_while_it_is_read(followed: Followed) -> None:
    """The search reads the full-text table, and the files are verified."""
    followed.add({f"{number}.md": "red house " + "boat " * number for number in range(9)})
    followed.catch_up()
    assert followed.compare("red", Filters())
    (segment,) = followed.postings.folder.glob("*.segment")
    os.truncate(segment, 100)
    found = [
        in_one_view(each, lambda c: lexical.search(c, parse_clauses("red house"), Filters(), limit=9))
        for each in (followed._plain, followed._with)
    ]
    same_results(*found)
    with pytest.raises(Damaged):
        followed.postings.verify()
    shared = SharedPostings(followed.postings.folder, terms.VERSION)
    attach(followed._with, shared)
    assert not followed.has_segments


def test_another_process_reads_the_same_postings(followed: Followed) -> None:
    shared = SharedPostings(followed.postings.folder, terms.VERSION)
    assert shared.up_to(2**62) is None
    for number in range(12):
        followed.add({f"{number}.md": "red house", "same.md": f"red boat {number}"})
        followed.catch_up()
        attach(followed._with, shared)
        assert followed.compare("red house", Filters())
    followed.postings.drop()
    attach(followed._with, shared)
    assert not followed.compare("red house", Filters())


def test_postings_of_another_version_of_the_terms_are_not_read(followed: Followed) -> None:
    followed.add({"a.md": "red house"})
    followed.catch_up()
    other = Postings(followed.postings.folder, terms.VERSION + 1)
    other.load()
    assert other.newest is None


def test_a_restored_database_starts_over(followed: Followed) -> None:
    followed.add({"a.md": "red house"})
    followed.catch_up()
    followed.database.submit_write(changes.make_readers_start_over).result()
    assert not followed.compare("red", Filters())
    followed.catch_up()
    assert followed.compare("red", Filters())


def in_file(path: Path, contents: Contents) -> Segment:
    segment.write(path, contents)
    return opened(File(path))


def test_a_merged_segment_equals_one_that_was_built_at_once(tmp_path: Path) -> None:
    rng = random.Random(3)
    documents = [
        SegmentInput(
            id_,
            f"#{id_:08x}",
            1,
            id_ % 3,
            Terms(f"p {id_}", " ".join(rng.choices("abc", k=2)), " ".join(rng.choices("abcdefgh", k=20))),
        )
        for id_ in rng.sample(range(1000), 60)
    ]
    others = [SegmentInput(id_, f"#{id_:08x}", 1, 0, Terms("gone", "q", "q a")) for id_ in range(2000, 2005)]
    whole = build(documents, terms_of)
    parts = [
        in_file(tmp_path / f"{start}", build([*documents[start : start + 13], removed], terms_of))
        for start, removed in zip(range(0, 60, 13), others, strict=False)
    ]
    alive = [part.ids() < 1000 for part in parts]
    together = merge(list(zip(parts, alive, strict=True)))
    read = in_file(tmp_path / "together", together)
    for found in (together, read.contents()):
        assert found.words == whole.words
        assert [array.tolist() for array in found[:6]] == [array.tolist() for array in whole[:6]]
    at_once = in_file(tmp_path / "at once", whole)
    assert all(counts(read, term) == counts(at_once, term) for term in whole.words)


def counts(segment: Segment, term: bytes) -> dict[int, list[int]]:
    documents, codes = segment.record(term)
    return dict(zip(documents.tolist(), segment.counts[codes].tolist(), strict=True))


def words_of(document: SegmentInput) -> set[str]:
    assert document.terms
    return {*document.terms.body.split(), "p", "t"}


def test_terms_are_found_in_a_file(tmp_path: Path) -> None:
    words = sorted({f"{number:x}" for number in range(200)})
    documents = [
        SegmentInput(
            id_, f"#{id_:08x}", 1, 0, Terms("p", "t", " ".join(word for word in words if id_ % len(word) == 0))
        )
        for id_ in range(1, 5)
    ]
    segment = in_file(tmp_path / "segment", build(documents, terms_of))
    for word in [*words, "0", "zz", "9a9", "p", ""]:
        expected = {each.id for each in documents if word in words_of(each)}
        assert set(segment.ids(segment.record(word.encode())[0]).tolist()) == expected
    for prefix in ("", "a", "c7", "z", "p"):
        found, _ = segment.record(prefix.encode(), is_prefix=True)
        expected_all = [each.id for each in documents for word in words_of(each) if word.startswith(prefix)]
        assert sorted(segment.ids(found).tolist()) == sorted(expected_all)


@given(st.lists(st.lists(st.sampled_from([0, 1, 127, 128, 300, 2**14, 2**21, 2**28]), min_size=3, max_size=3)))
def test_lengths_of_many_documents(columns: list[list[int]]) -> None:
    records = [b"".join(map(varint, each)) for each in columns]
    assert [list(column_sizes(record)) for record in records] == columns
    assert [each.tolist() for each in lengths(records)] == [list(map(sum, columns)), [each[1] for each in columns]]


def varint(number: int) -> bytes:
    """Encode a number as SQLite does."""
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def test_segments_that_lost_most_documents_and_small_ones_are_merged() -> None:
    assert worth_merging([SegmentSize(60_000, 20_000, 9)]) == [0]
    assert worth_merging([SegmentSize(20_000, 20_000, 9), SegmentSize(1, 1, 9)]) == []
    assert worth_merging([SegmentSize(20_000, 20_000, 9), SegmentSize(1, 1, 9), SegmentSize(1, 1, 9)]) == [1, 2]
    assert sorted(worth_merging([SegmentSize(4000, 4000, 9)] * 5)) == [0, 1, 2, 3, 4]
    assert worth_merging([SegmentSize(60_000, 60_000, 9)] * 20) == []
    assert worth_merging([SegmentSize(10, 10, MOST_POSTINGS * 2 // 3)] * 2) == []


@pytest.mark.parametrize("documents", [50, 500, 1600, 4000])
def test_a_document_is_copied_a_few_times_only(documents: int) -> None:
    sizes: list[SegmentSize] = []
    copied = total = 0
    while total < 300_000:
        total += documents
        sizes.append(SegmentSize(documents, documents, 100 * documents))
        while chosen := worth_merging(sizes):
            together = sum(sizes[number].alive for number in chosen)
            copied += together
            sizes = [size for number, size in enumerate(sizes) if number not in chosen]
            sizes.append(SegmentSize(together, together, 100 * together))
    assert copied <= 8 * total
    assert len(sizes) <= total // MOST_DOCUMENTS + 12


@given(st.lists(st.integers(1, 70_000), max_size=30))
def test_merging_ends_with_few_segments(alive: list[int]) -> None:
    while chosen := worth_merging([SegmentSize(each, each, each) for each in alive]):
        together = sum(alive[number] for number in chosen)
        alive = [*(each for number, each in enumerate(alive) if number not in chosen), together]
    small = sorted(each for each in alive if each < MOST_DOCUMENTS // (LARGER + 1))
    assert all(second > LARGER * first for first, second in itertools.pairwise(small))
