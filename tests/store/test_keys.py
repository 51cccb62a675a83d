"""Short keys: any hash is found again."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.ingest.text.canonical import canonicalise, digest
from gnod.store import packing
from gnod.store.connection import Connection
from gnod.store.tables import documents
from tests.small_index import SmallIndex, prepared


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_key_and_what_is_stored_with_it_give_the_hash(text: str, is_own: bool) -> None:
    whole = digest(text if is_own else f"asciidoc\0{text}")
    rest = packing.rest_of_hash(whole, text)
    key = packing.short_key(whole)
    assert (rest is None) == is_own
    assert len(key) == 20
    assert packing.hash_of_key(key, rest, text) == whole
    assert packing.short_key(key) == key


@pytest.mark.slow
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,3}\.(md|txt|py|adoc)", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        min_size=1,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_again(small_index: SmallIndex, texts: dict[str, str]) -> None:
    small_index.add(texts)

    def check(connection: Connection) -> None:
        for path, text in texts.items():
            given = prepared(text, path)
            found = documents.by_path(connection, "notes", path)
            assert found is not None
            assert documents.markdown(connection, found.mirror_hash) == given.markdown == canonicalise(text)
            assert documents.content_digest(connection, found.mirror_hash) == given.mirror_hash
            assert documents.count_chunks(connection, found.mirror_hash) == len(given.chunks)
            assert found.mirror_hash == packing.short_key(given.mirror_hash)
            assert found in documents.by_docid(connection, given.source_hash[:12])
            assert found in documents.by_docid(connection, given.source_hash[:6])

    small_index.database.submit_read(check).result()
    small_index.remove(*texts)


def test_a_hash_that_is_none_is_no_key() -> None:
    with pytest.raises(ValueError, match="hex"):
        packing.short_key("x" * 64)
    assert packing.short_key(sha256(b"a").hexdigest()) == "ypeBEsobvcr6wjGzmiPc"
