"""`gnoctl follow` against the fake daemon."""

from __future__ import annotations

import json
import signal

import pytest
from msgspec.structs import replace

from gnod.errors import CollectionNotFound
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.subscription import ChangedDocument, ChangedFailure, ChangedPath, IndexSubscribeParams
from tests.client.conftest import Gnoctl, Spawn
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import BEGUN, changes, told
from tests.machine import wait_until

[NOTHING] = changes(1)
A = ChangedDocument(uri="gno://notes/a.md", collection="notes", path="a.md", docid="#a1b2c3d4", title="A\x1b[31m")
B = ChangedPath(uri="gno://notes/b.md", collection="notes", path="b.md")
C = ChangedFailure(uri="gno://notes/c.pdf", collection="notes", path="c.pdf", kind="corrupt", message="Damaged.")
CHANGES = replace(NOTHING, clock=107, indexed=[A], removed=[B], failed=[C])
EMBEDDING = EmbeddingStatus(state="paused", reason="paused by hand", pending=7, done=0, failed=0)
PAUSED = replace(NOTHING, clock=107, embedding=EMBEDDING)


def test_a_line_for_each_change(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    other = replace(CHANGES, subscription=4)
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
    state, changed, error = map(json.loads, outcome.out.splitlines())
    assert (state["clock"], changed["clock"]) == (100, 107)
    assert changed["removed"] == [{"uri": "gno://notes/b.md", "collection": "notes", "path": "b.md"}]
    assert error["error"]["details"]["clock"] == 107


def test_a_refused_subscription_is_an_error(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.subscribe"] = CollectionNotFound("there is no collection 'x'")
    assert gnoctl("follow", "-c", "x").err == "gnoctl: there is no collection 'x'\n"


@pytest.mark.slow
def test_ctrl_c_in_embed_says_that_the_work_goes_on(daemon: FakeDaemon, spawn: Spawn) -> None:
    daemon.answers["index.embed"] = None
    process = spawn("embed")
    wait_until(lambda: any(method == "index.embed" for method, _ in daemon.calls))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert "the daemon continues embedding" in error
    assert process.returncode == 130


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
