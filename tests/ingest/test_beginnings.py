"""Test which text of a document is embedded first."""

from __future__ import annotations

import pytest

from gnod.ingest.embedding import beginning
from gnod.models.embedding_profiles import FEW_SENTENCES
from gnod.store.vectors import vectors
from tests.small_index import SmallIndex

PROSE = "The keeper counts the boats in the harbour before the tide turns. " * 60
URI = "hf:org/repo/model.gguf"


def _beginnings(index: SmallIndex) -> list[str]:
    return [beginning(each) for each in vectors.pending(index.reader, URI, ["notes"], 100) if each.brief_due]


@pytest.mark.parametrize("last", ["## Lighthouse", "Lighthouse\n===", "### Lighthouse ###"])
def test_a_long_document_is_its_first_sentences_and_its_headings(last: str, small_index: SmallIndex) -> None:
    small_index.add({"a.md": f"# Coast\n\n{PROSE}\n\n## Harbour\n\n{PROSE}\n\n{last}\n\n{PROSE}\n"})
    (text,) = _beginnings(small_index)
    assert "The keeper counts" in text
    assert text.endswith("Harbour; Lighthouse")
    assert len(text) <= FEW_SENTENCES


def test_many_headings_leave_room_for_the_first_sentences(small_index: SmallIndex) -> None:
    small_index.add({"a.md": f"# Coast\n\n{PROSE}\n\n" + "".join(f"## Section {n}\n\n{PROSE}\n\n" for n in range(99))})
    (text,) = _beginnings(small_index)
    assert len(text) <= FEW_SENTENCES
    assert text.count("The keeper counts") > 3
    assert "Section 0; Section 1; " in text


def test_other_documents_are_their_first_sentences(small_index: SmallIndex) -> None:
    small_index.add({"long.md": PROSE, "short.md": "# Tide\n\nIt turns.\n\n## Moon\n\nIt pulls.\n"})
    short, long = sorted(_beginnings(small_index), key=len)
    assert short == "# Tide\n\nIt turns.\n\n## Moon\n\nIt pulls."
    assert PROSE.startswith(long)
    assert len(long) > FEW_SENTENCES // 2


def test_a_short_beginning_is_embedded_in_full_later(small_index: SmallIndex) -> None:
    small_index.add({"a.md": f"# Coast\n\nBelow is all.\n\n## Harbour\n\n{PROSE}\n\n## Lighthouse\n\n{PROSE}\n"})
    first = next(each for each in vectors.pending(small_index.reader, URI, ["notes"], 100) if each.brief_due)
    assert beginning(first) != first.text
    assert small_index.embed_in_brief(URI) == 1
    assert first.embed_hash in {each.embed_hash for each in vectors.pending(small_index.reader, URI, ["notes"], 100)}
