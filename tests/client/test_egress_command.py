"""The output of `gnoctl egress` against the fake daemon."""

from __future__ import annotations

import json

from gnod.protocol.index import EgressEntry, IndexEgressResult
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

SERVER, MILVUS = "http://10.1.2.3:8080/v1#m", "milvus://10.1.2.3:19530/team/handbook"
JOURNAL = "/data/egress-default.sqlite"


def entry(address: str, role: str, collection: str | None, requests: int, size: int) -> EgressEntry:
    at = "2026-11-01T10:00:00Z"
    return EgressEntry(
        address=address, role=role, collection=collection, requests=requests, bytes=size, first_at=at, last_at=at
    )


SENT = [
    entry(SERVER, "embed", None, 1200, 3_400_000),
    entry(SERVER, "embed", "docs", 1200, 3_400_000),
    entry(SERVER, "embed", "notes", 3, 900),
    entry(MILVUS, "search", None, 5, 4000),
    entry(MILVUS, "search", "hand\x1b[31mbook", 5, 4000),
]


def test_nothing_was_sent(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.egress"] = IndexEgressResult(entries=[], journal=JOURNAL)
    said = "Nothing was ever sent to a model server or to the server of a shared collection\n"
    assert gnoctl("egress").out == said


def test_each_line_and_the_totals_of_several_collections(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.egress"] = IndexEgressResult(entries=SENT, journal=JOURNAL)
    header, *lines = gnoctl("egress").out.splitlines()
    assert header.split() == ["address", "for", "collection", "requests", "sent", "first", "last"]
    cells = [line.split()[:6] for line in lines[:4]]
    assert cells == [
        [SERVER, "embed", "all", "1,200", "3.4", "MB"],
        [SERVER, "embed", "docs", "1,200", "3.4", "MB"],
        [SERVER, "embed", "notes", "3", "900", "B"],
        [MILVUS, "search", "hand␛[31mbook", "5", "4.0", "kB"],
    ]
    assert lines[4:] == ["", JOURNAL]

    found = json.loads(gnoctl("egress", "--json").out)
    assert len(found["entries"]) == len(SENT)
    assert found["entries"][0]["collection"] is None
