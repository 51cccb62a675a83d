"""`gnoctl egress`, and a server that index.yml no longer names, with real processes."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator

import pytest

from tests.machine import Machine, wait_until
from tests.models.endpoint_imitation import EndpointImitation

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[EndpointImitation]:
    with EndpointImitation() as running:
        yield running


@pytest.mark.stress
def test_a_server_that_is_removed_gets_nothing_and_what_it_got_is_known(server: EndpointImitation) -> None:
    with Machine.in_temporary_folder() as machine:
        assert "Nothing was ever sent" in machine.ok("egress")
        machine.write(heron_md="# Herons\n\nHerons come back to the harbour in March.\n")
        machine.config.parent.mkdir(parents=True, exist_ok=True)
        roles = ", ".join(f'{role}: "{server.uri}"' for role in ("embed", "rerank", "expand", "answer"))
        collections = f"collections:\n  - {{name: notes, path: {machine.notes}}}\n"
        machine.config.write_text(f"{collections}models: {{preset: none, {roles}}}\n")
        machine.ok("index")
        machine.ok("embed")
        machine.ok("ask", "when do herons come back")
        sent = machine.ok("egress")
        assert server.uri in sent
        assert [word for word in ("embed", "answer", "notes") if word not in sent] == []
        assert f"notes, memories: texts and queries go to {server.uri} (on this machine)" in machine.ok("status")
        assert "; last sent" in machine.run("doctor").stdout
        journal = machine.database.parent / "egress-default.sqlite"
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600

        stays = machine.run("models", "use", "none").stderr
        assert f"`models.embed` in index.yml stays in force: {server.uri}, a server" in stays

        machine.config.write_text(f"{collections}models: {{preset: none}}\n")
        received = server.received
        machine.write(later_md="# Later\n\nThe otter came after that.\n")
        for command in (
            ("query", "when do herons come back"),
            ("ask", "when do herons come back"),
            ("evidence", "herons"),
            ("doctor",),
            ("status",),
        ):
            machine.run(*command)
        assert machine.run("vsearch", "herons").returncode
        assert server.received == received
        said = machine.ok("query", "herons")
        assert f"index.yml does not name {server.uri} as the model for `embed` of notes: nothing was sent" in said
        wait_until(lambda: "but not searched" in machine.ok("status"))
        assert "nothing is sent, and its vectors are not searched" in machine.run("doctor").stdout

        machine.hang_up()
        machine.kill()
        for path in machine.database.parent.glob("index-*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        machine.ok("status")  # starts the daemon
        entries = machine.call("index.egress")["entries"]
        assert sum(each["bytes"] for each in entries if each["collection"] is None) == received
        assert server.received == received
