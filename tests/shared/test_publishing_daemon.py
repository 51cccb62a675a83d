"""`gnoctl collection publish` with real daemons: its output, and the published data afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnod.config import edit
from gnod.shared import payload
from gnod.shared.engine import key_of
from gnod.shared.milvus.engine import MilvusEngine
from tests.machine import Machine, wait_until
from tests.shared.milvus_server import MilvusServer

pytestmark = pytest.mark.slow


@pytest.fixture
def engine(milvus: MilvusServer) -> Iterator[MilvusEngine]:
    opened = milvus.engine("notes")
    yield opened
    opened.drop()
    opened.close()


@pytest.fixture
def machine(short_tmp: Path, engine: MilvusEngine) -> Iterator[Machine]:
    """Yield a machine that ends before its collection is dropped. Milvus cannot drop a collection during writes."""
    assert engine
    with Machine(short_tmp) as machine:
        yield machine


def address(milvus: MilvusServer) -> str:
    return f"milvus://127.0.0.1:{milvus.port}/team"


def published(machine: Machine) -> dict[str, Any]:
    (found,) = machine.call("index.status")["published"]
    return dict(found)


def texts(engine: MilvusEngine) -> dict[str, str]:
    """Return the texts that a reader gets, by path."""
    found = engine.documents(list(dict(engine.keys())))
    return {document.path: payload.decode(document.payload).prepared.markdown.strip() for document in found}


def test_publish_follow_restart_and_unpublish(machine: Machine, milvus: MilvusServer, engine: MilvusEngine) -> None:
    machine.write(a_md="# Refunds\n\nPaid within 14 days.", b_md="# Travel\n\nBy train.")
    machine.ok("init", str(machine.notes))
    refused = machine.run("collection", "publish", "notes", "--to", address(milvus))
    assert "needs a confirmation: add --yes" in refused.stderr
    assert f"notes: 2 documents → {address(milvus)}/notes" in refused.stdout
    assert engine.header() is None

    said = machine.ok("collection", "publish", "notes", "--to", address(milvus), "--yes")
    assert f"published notes: 2 documents at {address(milvus)}/notes" in said
    assert texts(engine) == {"a.md": "# Refunds\n\nPaid within 14 days.", "b.md": "# Travel\n\nBy train."}
    (document,) = engine.documents([key_of("a.md")])
    assert str(machine.folder) not in str(payload.decode(document.payload))

    machine.write(a_md="# Refunds\n\nPaid within 30 days.")
    wait_until(lambda: "30 days" in texts(engine).get("a.md", ""))
    wait_until(lambda: published(machine)["state"] == "idle")
    status = machine.ok("status")
    assert f"published notes: {address(milvus)}/notes: 2 documents, nothing is missing" in status
    assert "published notes" in machine.run("doctor").stdout

    machine.hang_up()
    machine.kill()
    (machine.notes / "b.md").unlink()
    machine.write(c_md="# New\n\nText.")
    machine.ok("status")
    wait_until(lambda: texts(engine).keys() == {"a.md", "c.md"})

    assert "is published" in machine.run("collection", "remove", "notes").stderr
    machine.ok("collection", "rename", "notes", "others")
    machine.write(d_md="# Later\n\nText.")
    wait_until(lambda: "d.md" in texts(engine))
    said = machine.ok("collection", "unpublish", "others")
    assert "3 documents, 0 pieces, 4 texts" in said
    assert "left there: 0 documents, 0 pieces, 0 texts, 0 terms" in said
    assert set(engine.count().values()) == {0}
    assert machine.call("index.status")["published"] == []
    assert not list(machine.database.parent.glob("published-*"))
    again = machine.run("collection", "unpublish", "others")
    assert "is not published from here" in again.stderr


@pytest.mark.stress
def test_one_daemon_publishes_and_another_takes_over(
    machine: Machine, milvus: MilvusServer, engine: MilvusEngine
) -> None:
    machine.write(a_md="# Old\n\nText.")
    machine.ok("init", str(machine.notes))
    machine.ok("collection", "publish", "notes", "--to", address(milvus), "--yes")
    with Machine.in_temporary_folder() as other:
        other.write(a_md="# New\n\nText.")
        other.ok("init", str(other.notes))
        to = ("collection", "publish", "notes", "--to", address(milvus), "--yes")
        refused = other.run(*to)
        assert "publishes this collection, and was last seen" in refused.stderr
        assert other.call("index.status")["published"] == []
        other.ok(*to, "--take-over")
        assert texts(engine) == {"a.md": "# New\n\nText."}
        machine.write(b_md="# Mine\n\nText.")
        wait_until(lambda: published(machine)["state"] == "failing")
        assert "publishes this collection" in published(machine)["reason"]
        assert texts(engine) == {"a.md": "# New\n\nText."}
        lost = machine.run("collection", "unpublish", "notes")
        assert "publishes this collection" in lost.stderr
        other.ok("collection", "unpublish", "notes")


def test_an_unreachable_engine(machine: Machine, closed_port: int) -> None:
    machine.write(a_md="# Old\n\nText.")
    machine.ok("init", str(machine.notes))
    nowhere = f"milvus://127.0.0.1:{closed_port}/team/notes"
    config = machine.config.read_text()
    edit.publish(machine.config, "notes", nowhere)
    wait_until(lambda: [each["state"] for each in machine.call("index.status")["published"]] == ["failing"])
    assert "did not answer in time" in machine.ok("status")
    assert machine.paths("old") == ["a.md"]
    elsewhere = machine.run("collection", "publish", "notes", "--to", "milvus+tls://8.8.8.8/team", "--yes")
    assert "run `gnoctl collection unpublish notes` first" in elsewhere.stderr
    machine.config.write_text(config)
    wait_until(lambda: machine.call("index.status")["published"] == [])
    outside = machine.run("collection", "publish", "notes", "--to", "milvus+tls://8.8.8.8/team", "--yes")
    assert "`egress: local` of the collection notes keeps texts from milvus+tls://8.8.8.8:19530/team" in outside.stderr
