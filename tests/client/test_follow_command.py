"""`gnoctl follow` against the fake daemon."""

from __future__ import annotations

import json
import signal

import msgspec
import pytest

from gnod.errors import CollectionNotFound
from gnod.protocol.framing import Framing, encode
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.jsonrpc import encode_call, encode_result
from gnod.protocol.subscription import (
    CHANGED,
    ChangedDocument,
    ChangedFailure,
    ChangedPath,
    IndexChanged,
    IndexSubscribeParams,
    IndexSubscribeResult,
    SubscribedCollection,
    SubscribedState,
)
from tests.client import samples
from tests.client.conftest import Gnoctl, Spawn
from tests.client.fake_daemon import FakeDaemon

IDLE = EmbeddingStatus(state="idle", pending=0, done=0, failed=0)
BEGUN = IndexSubscribeResult(
    subscription=3,
    clock=100,
    reset=False,
    state=SubscribedState(
        collections=[
            SubscribedCollection(
                name="notes", path="/n", documents=2, failed=0, available=True, watch="events", watch_reason=None
            )
        ],
        freshness=samples.CURRENT,
        embedding=IDLE,
    ),
)
CHANGES = IndexChanged(
    subscription=3,
    clock=107,
    indexed=[
        ChangedDocument(uri="gno://notes/a.md", collection="notes", path="a.md", docid="#a1b2c3d4", title="A\x1b[31m")
    ],
    removed=[ChangedPath(uri="gno://notes/b.md", collection="notes", path="b.md")],
    failed=[
        ChangedFailure(uri="gno://notes/c.pdf", collection="notes", path="c.pdf", kind="corrupt", message="Damaged.")
    ],
    freshness=samples.CURRENT,
    embedding=IDLE,
)
PAUSED = msgspec.structs.replace(
    CHANGES,
    indexed=[],
    removed=[],
    failed=[],
    embedding=EmbeddingStatus(state="paused", reason="paused by hand", pending=7, done=0, failed=0),
)


def told(*changes: IndexChanged) -> bytes:
    """Return the answer and what follows it; then the daemon goes away."""
    messages = [encode_result(1, BEGUN), *(encode_call(CHANGED, each) for each in changes)]
    return b"".join(encode(each, Framing.LINES) for each in messages)


def test_a_line_for_each_change(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    other = msgspec.structs.replace(CHANGES, subscription=4)
    daemon.answers["index.subscribe"] = told(CHANGES, other, PAUSED)
    outcome = gnoctl("follow", "--since", "90", "-c", "notes,work")
    assert daemon.asked(IndexSubscribeParams) == IndexSubscribeParams(since=90, collections=["notes", "work"])
    assert outcome.out.splitlines() == [
        "removed  gno://notes/b.md",
        "indexed  gno://notes/a.md  A␛[31m",
        "failed   gno://notes/c.pdf  corrupt: Damaged.",
    ]
    assert outcome.err.splitlines() == [
        "following notes (2 documents); Ctrl-C stops",
        "embedding is paused: paused by hand",
        "gnoctl: the daemon closed the connection: `gnoctl follow --since 107` continues from here",
    ]
    assert outcome.status == 2


def test_as_json_the_state_and_then_the_changes(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.subscribe"] = told(CHANGES)
    outcome = gnoctl("follow", "--json")
    state, changes, error = map(json.loads, outcome.out.splitlines())
    assert (state["clock"], changes["clock"]) == (100, 107)
    assert changes["removed"] == [{"uri": "gno://notes/b.md", "collection": "notes", "path": "b.md"}]
    assert error["error"]["details"]["clock"] == 107


def test_what_it_is_refused(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.subscribe"] = CollectionNotFound("there is no collection 'x'")
    assert gnoctl("follow", "-c", "x").err == "gnoctl: there is no collection 'x'\n"
    assert "--since must be >= 0" in gnoctl("follow", "--since=-1").err


@pytest.mark.slow
def test_ctrl_c_ends_it_and_says_how_to_go_on(daemon: FakeDaemon, spawn: Spawn) -> None:
    daemon.answers["index.subscribe"] = BEGUN
    process = spawn("follow")
    assert process.stderr is not None
    assert process.stderr.readline() == "following notes (2 documents); Ctrl-C stops\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert error == "`gnoctl follow --since 100` continues from here\n"
    assert process.returncode == 130
