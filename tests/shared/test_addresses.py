"""Addresses of shared collections."""

from __future__ import annotations

import pytest

from gnod.config.shared_addresses import parse
from gnod.errors import InvalidAddress

GOOD = {
    "milvus://host/team/handbook": ("host", 19530, "team", "handbook", False),
    "milvus+tls://host.example:443/team/hand-book_2/": ("host.example", 443, "team", "hand-book_2", True),
    "milvus://[fe80::1]:1/t/h": ("fe80::1", 1, "t", "h", False),
}


@pytest.mark.parametrize("text", GOOD)
def test_an_address_has_parts_and_is_printed_as_it_is_read(text: str) -> None:
    assert tuple(parse(text)) == GOOD[text]
    assert parse(str(parse(text))) == parse(text)


def test_the_collection_may_come_from_elsewhere() -> None:
    assert parse("milvus://host/team", "handbook").collection == "handbook"
    assert parse("milvus://host/team/other", "handbook").collection == "other"


@pytest.mark.parametrize(
    "text",
    [
        *("", "handbook", "http://host/team/handbook", "milvus://host/team", "milvus:///team/handbook"),
        *("milvus://host:99999/team/handbook", "milvus://host:0/team/handbook", "milvus://host/1team/handbook"),
        *("milvus://host/team/Hand Book", "milvus://host/team/a/b", "milvus://host/team/a?x=1", "milvus://ho st/t/h"),
        *(" milvus://host/team/a", "milvus://[::1/team/a", "milvus://host/team/" + "a" * 999),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidAddress, match="expected milvus://host:19530/database/collection"):
        parse(text)


def test_a_token_does_not_belong_in_an_address() -> None:
    with pytest.raises(InvalidAddress) as refused:
        parse("milvus://user:secret@host/team/handbook")
    assert "secret" not in refused.value.message
