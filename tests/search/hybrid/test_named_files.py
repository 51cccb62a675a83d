"""A document whose path has the words of a query comes before documents that barely mention them."""

from __future__ import annotations

import pytest

from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.search.ranking.fusion import NAME_BONUS, RetrieverResults, fuse
from gnod.store.tables.filters import Filters
from gnod.types import FusionMethod
from tests.search.hybrid.test_scores import URI, by_both
from tests.small_index import SmallIndex

FILLER = "Nothing of interest is in this text, which goes on for a while."


@pytest.fixture
def notes(small_index: SmallIndex) -> SmallIndex:
    texts = {f"notes/{n}.md": f"# Page {n}\n\n{FILLER} {'backup ' * (n % 4)} restore {n}\n" for n in range(60)}
    texts |= {
        "adr/0012-backup.md": f"# Decision 12\n\n{FILLER}\n",
        "adr/0013-clocks.md": f"# Decision 13\n\n{FILLER}\n",
    }
    texts |= {"restore_procedure.txt": f"# How\n\n{FILLER}\n", "2026/Sicherung der Häuser.md": f"# Blatt\n\n{FILLER}\n"}
    small_index.add(texts, language="en")
    small_index.embed(URI)
    return small_index


def paths(index: SmallIndex, query: str, **options: object) -> list[str]:
    known = {row[0]: str(row[1]) for row in index.rows("SELECT id, path FROM documents")}
    return [known[each.id] for each in by_both(index, query, 10, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("backup adr", "adr/0012-backup.md"),
        ("backup", "adr/0012-backup.md"),
        ("0012-backup.md", "adr/0012-backup.md"),
        ("restore procedures", "restore_procedure.txt"),
        ("restore_procedure.txt", "restore_procedure.txt"),
        ("sicherung häuser", "2026/Sicherung der Häuser.md"),
    ],
)
@pytest.mark.parametrize("method", ["convex", "rrf"])
def test_the_file_that_is_named_comes_first(notes: SmallIndex, query: str, path: str, method: FusionMethod) -> None:
    assert path in paths(notes, query, fusion=method)[: 1 if method == "convex" else 2]


def test_by_keyword_alone_too(notes: SmallIndex) -> None:
    assert paths(notes, "backup adr", embeds=False)[0] == "adr/0012-backup.md"


def test_excluded_or_filtered_documents_are_not_found(notes: SmallIndex) -> None:
    assert "adr/0012-backup.md" not in paths(notes, "backup -decision")
    assert "adr/0012-backup.md" not in paths(notes, '"backup restore"')


def test_a_name_of_most_documents_says_almost_nothing(notes: SmallIndex) -> None:
    def says(query: str) -> dict[int, float]:
        found = lexical.survey(notes.reader, parse_clauses(query), Filters(), depth=2000)
        return dict(found.named)

    of_folder, of_file = says("notes"), says("clocks")
    assert len(of_folder) == lexical.MOST_NAMED
    assert max(of_folder.values()) < 0.05
    assert list(of_file.values()) == [1.0]
    assert says("notes clocks") == says("xyzzy") == {}


def test_the_bonus_is_a_share_of_the_best_score() -> None:
    lists = [RetrieverResults("lexical", 1.0, {1: 3.0, 2: 2.0, 3: 1.0}, 3)]
    plain, named = fuse("convex", lists, str), fuse("convex", lists, str, named={2: 1.0, 9: 1.0})
    assert [each.id for each in plain.ranked] == [1, 2, 3]
    assert [round(each.score, 6) for each in named.ranked] == [1.0, 1.0, 0.0]
    assert named.ranked[[each.id for each in named.ranked].index(2)].components["name"] == NAME_BONUS


def test_an_identifier_in_a_text_names_no_file_with_the_same_words(small_index: SmallIndex) -> None:
    small_index.add({"c/token_bucket.c": "size_t capacity;\n", "c/wave_table.c": "size_t size;\n"}, language="en")
    small_index.add({"go/limit.go": "type tokenBucket struct\n", "go/other.go": "package other\n"}, language="en")

    def named(query: str) -> set[str]:
        found = lexical.survey(small_index.reader, parse_clauses(query), Filters(), depth=2000)
        known = {row[0]: str(row[1]) for row in small_index.rows("SELECT id, path FROM documents")}
        return {known[id_] for id_ in found.named}

    assert named("tokenBucket") == set()
    assert named("token bucket") == named("token_bucket.c") == {"c/token_bucket.c"}
    assert named("waveTable") == {"c/wave_table.c"}
