"""The hit of a ranked document and its best chunk: snippet, marks, and lines of the file."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from msgspec import UNSET

from gnod.ingest.text.chunking import MAX_CHARACTERS
from gnod.models.run.roles import Embedder
from gnod.protocol.search import Hit, SearchVectorParams
from gnod.search.keyword import lexical
from gnod.search.meaning import vector_search
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_query, parse_text
from gnod.search.ranking.ranked import RankedDocument, Span
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.hits import wire_hits
from tests.search.hybrid_bench import bench, embed_all, made
from tests.small_index import SmallIndex

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILLER = " ".join(["Words about nothing in particular stand here for a while."] * 20)
LONG = (
    "---\ntags: [a]\n---\n# Start\n\nThe zebra is mentioned early.\n\n"
    + "\n\n".join(f"## Part {number}\n\nOpening of part {number}.\n\n{FILLER}" for number in range(1, 9))
    + "\n\n## The end\n\nA paragraph before.\n\nHere the stripes of zebras are explained.\n"
)


def hits(index: SmallIndex, query: str, chunk: int | Span | None, **wanted: int) -> Hit:
    """Return the hit of the only document, found in a span, or in the chunk with this number (from the end if
    negative)."""

    def work(connection: Connection) -> Hit:
        (document,) = documents.under(connection, None, "", 10, 0)
        spans = list(connection.execute("SELECT start, end, start_line, end_line FROM chunks ORDER BY seq"))
        span = Span(*spans[chunk]) if isinstance(chunk, int) else chunk
        found = RankedDocument(document.id, 0.75, span, {"similarity": 0.75})
        params = SearchVectorParams(query=query, **wanted)  # type: ignore[arg-type]
        (hit,) = wire_hits(connection, [found], lexical.expression_of(connection, parse_text(query)), params)
        return hit

    return index.database.submit_read(work).result()


def marked(hit: Hit) -> list[str]:
    return [hit.snippet[start:end] for start, end in hit.marks]


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


def test_the_passage_is_in_the_chunk_although_the_words_occur_elsewhere(small_index: SmallIndex) -> None:
    small_index.add({"a.md": LONG})
    assert len(LONG) > 2 * MAX_CHARACTERS
    early, late = hits(small_index, "zebra", 0), hits(small_index, "zebra", -1)
    assert (marked(early), marked(late)) == (["zebra"], ["zebras"])
    assert early.line == early.end_line == line_of(LONG, "The zebra is mentioned")
    assert late.line == late.end_line == line_of(LONG, "Here the stripes")
    assert LONG.split("\n")[late.snippet_line - 1].startswith(late.snippet.split("\n")[0])


def test_several_passages_do_not_overlap_and_stand_at_their_lines(small_index: SmallIndex) -> None:
    text = "# Cranes\n\n" + "\n\n".join(
        f"{FILLER}\n\nThe tower crane {verb} in strong wind." for verb in ("stops", "turns", "hums")
    )
    small_index.add({"a.md": text})
    one, several = hits(small_index, "tower crane wind", None), hits(small_index, "tower crane wind", None, passages=3)
    assert one.passages is UNSET
    assert several.passages
    first, *others = several.passages
    assert (first.line, first.snippet, first.marks) == (one.line, one.snippet, one.marks)
    assert sorted(each.line for each in several.passages) == [
        line_of(text, f"crane {verb}") for verb in ("stops", "turns", "hums")
    ]
    for each in others:
        assert text.split("\n")[each.snippet_line - 1].startswith(each.snippet.split("\n")[0].strip()[:20])
        assert [each.snippet[start:end] for start, end in each.marks] == ["tower", "crane", "wind"]
    assert len(hits(small_index, "tower crane wind", None, passages=2).passages or []) == 2


def test_all_matches_are_counted_with_their_lines(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "A tower crane.\n\n\n\nThe getTowerCrane of towers.\n" + "\n\nA crane stops." * 90})
    one, several = hits(small_index, "tower crane", None), hits(small_index, "tower crane", None, passages=2)
    assert one.matches is UNSET
    assert several.matches
    assert several.matches.exact
    assert several.matches.count == len(several.matches.lines) == 2 + 2 + 90
    assert several.matches.lines[:5] == [1, 1, 5, 5, 8]
    assert several.matches.pages is None


def test_the_matches_of_a_phrase_are_its_places(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "The *tower*\n> crane of a tower. A crane.\n\n" + "Crane. A tower crane.\n" * 70})

    def work(connection: Connection) -> Hit:
        words = lexical.expression_of(connection, parse_query('"tower crane"').terms)
        params = SearchVectorParams(query="", passages=2)
        return wire_hits(connection, [RankedDocument(1, 0.5, None, {})], words, params)[0]

    found = small_index.database.submit_read(work).result().matches
    assert found
    assert found.lines == [1, *range(4, 74)]


def test_a_count_of_very_many_matches_is_a_lower_bound(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "A tower crane.\n" * 700})
    found = hits(small_index, "tower crane", None, passages=2).matches
    assert found
    assert (found.count, found.exact, found.lines[-1]) == (1000, False, 500)


def test_a_passage_with_few_of_the_words_is_no_further_one(small_index: SmallIndex) -> None:
    small_index.add({"a.md": f"# A\n\nThe tower crane stops in wind.\n\n{FILLER}\n\nThe wind is cold.\n"})
    assert len(hits(small_index, "tower crane wind stops", None, passages=5).passages or []) == 1


def test_without_the_words_it_is_the_chunks_opening_without_its_heading(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# Greeting\n\n## Deep\n\nGood morning to you.\n\nSecond.\n"})
    hit = hits(small_index, "bonjour", 0)
    assert (hit.snippet.split("\n")[0], hit.marks, hit.line, hit.snippet_line) == ("Good morning to you.", [], 5, 5)


def test_the_opening_of_a_chunk_in_the_middle_has_its_own_lines(small_index: SmallIndex) -> None:
    small_index.add({"a.md": LONG})
    for number in (1, 2, -1):
        hit = hits(small_index, "unrelated", number)
        assert hit.marks == []
        assert not hit.snippet.startswith("#")
        assert hit.snippet.split("\n")[0] in LONG.split("\n")[hit.snippet_line - 1]
        assert hit.line == hit.snippet_line > 4


def test_lines_are_those_of_the_file_where_canonical_text_lost_some(small_index: SmallIndex) -> None:
    text = "# Start\n\n\n\n\nOne.\n\n\n\nThe zebra.\n"
    small_index.add({"a.md": text})
    for query, words in {"zebra": "The zebra", "unrelated": "One."}.items():
        hit = hits(small_index, query, 0)
        assert hit.line == line_of(text, words)


def test_any_text_is_a_query(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# Inches\n\nA disk of 5 inches.\n"})
    assert marked(hits(small_index, '5" disk', 0)) == ["disk", "5"]
    for query in ('"', "-disk", "???", "the", '"no such phrase'):
        assert hits(small_index, query, 0).snippet == "A disk of 5 inches."


def test_full_and_explain(small_index: SmallIndex) -> None:
    small_index.add({"a.md": LONG})
    plain, whole = hits(small_index, "zebra", 0), hits(small_index, "zebra", 0, full=True, explain=True)
    assert (plain.text, plain.explain) == (None, None)
    assert (whole.text, whole.explain, whole.score) == (LONG, {"similarity": 0.75}, 0.75)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "piece", "opening"), [("website unavailable", 0, "What went well"), ("outage", 1, "What we change:")]
)
def test_without_the_words_the_passage_is_the_beginning_of_the_best_piece(
    small_index: SmallIndex, minilm_onnx: Path, query: str, piece: int, opening: str
) -> None:
    path = "meetings/2026-10-12-retrospective.md"
    text = (SAMPLES / path).read_text()
    small_index.add({path: text})
    asyncio.run(embed_all(small_index, minilm_onnx))
    uri = f"file:{minilm_onnx}"

    async def query_vectors() -> QueryVectors:
        async with bench(small_index, embed=minilm_onnx) as asked:
            rows = await made(Embedder, minilm_onnx, asked.inference).texts([query], [])
            return QueryVectors({uri: rows}, {"notes": uri})

    def work(vectors: QueryVectors, connection: Connection) -> Hit:
        starts = [start for (start,) in connection.execute("SELECT start FROM content_vectors ORDER BY start")]
        assert len(starts) == 2
        (ranked,) = vector_search.search(connection, Nearest(), vectors, Filters(), limit=1)
        assert ranked.span
        assert ranked.span.start == starts[piece]
        params, words = (
            SearchVectorParams(query=query, passages=2),
            lexical.expression_of(connection, parse_text(query)),
        )
        (hit,) = wire_hits(connection, [ranked], words, params, vectors)
        return hit

    hit = small_index.database.submit_read(partial(work, asyncio.run(query_vectors()))).result()
    assert hit.snippet.startswith(opening)
    assert not hit.marks
    assert hit.line == hit.snippet_line == line_of(text, opening)
    assert hit.end_line == line_of(text, hit.snippet.splitlines()[-1])
    assert hit.passages
    best, *others = hit.passages
    assert best.snippet == hit.snippet
    assert all(each.snippet != hit.snippet and each.line != hit.line for each in others)


def test_a_short_text_and_a_long_one_are_read_in_different_ways_with_the_same_result(small_index: SmallIndex) -> None:
    """Short texts are read with the documents, long ones one at a time."""
    short = "# Zebras\n\n" + FILLER + "\n\nThe zebra grazes. Here the stripes of zebras are explained.\n\n" + FILLER
    long = short + FILLER * (2 * documents.SHORT_BYTES // len(FILLER))
    found = {}
    for name, text in (("short", short), ("long", long)):
        small_index.add({"a.md": text})
        for span in (None, Span(len("# Zebras\n\n"), len(short), 3, 5)):
            hit = hits(small_index, "stripes of zebras", span)
            found[name, span is None] = (hit.snippet, hit.marks, hit.line, hit.end_line, hit.snippet_line)
    assert found["short", True] == found["long", True]
    assert found["short", False] == found["long", False]
