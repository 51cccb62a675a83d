"""`gnoctl audit`, and what `unresolved` proposes for files that another program has renamed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.machine import Machine, temporary_machine, wait_until

FILES = {
    "start.md": "# Start\n\nThe [[Savanna|zebra]] and [the plain](sub/plain.md).\n",
    "Savanna.md": "# Savanna\n\n[back](start.md#Start)\n",
    "sub/plain.md": "# Plain\n\n[up](../Savanna.md)\n",
}


@pytest.fixture
def vault() -> Iterator[Machine]:
    with temporary_machine() as machine:
        for name, text in FILES.items():
            (machine.notes / name).parent.mkdir(exist_ok=True)
            (machine.notes / name).write_text(text)
        machine.ok("init", str(machine.notes))
        machine.ok("update")
        yield machine


def test_a_rename_by_another_program_is_noticed(vault: Machine) -> None:
    (vault.notes / "sub/plain.md").rename(vault.notes / "Quite another name.md")
    wait_until(lambda: vault.json("unresolved")["total"] == 2)
    links = vault.json("unresolved")["links"]
    assert links[0]["target"] == "../Savanna.md"  # it leads out of the collection now
    link = links[1]
    assert (link["target"], link["suggestion"]) == ("sub/plain.md", "Quite another name.md")
    assert "sub/plain.md; did you mean Quite another name.md?" in vault.ok("unresolved", "notes")
    assert "did you mean Quite another name.md?" in vault.run("check-links").stdout


def test_audit(vault: Machine) -> None:
    assert vault.run("audit", "notes").returncode == 0
    vault.write(copy_md="# Copy\n", copy2_md="# Copy\n", dead_md="# Dead\n\n[[nobody]] [[copy]] [[copy2]] [[start]]\n")
    vault.ok("index", "notes")
    done = vault.run("audit", "notes")
    assert done.returncode == 1
    assert "nobody: no document has this name" in done.stdout
    assert "  notes/copy.md  =  notes/copy2.md\n" in done.stdout
    assert "  notes/dead.md\n" in done.stdout
    failed = vault.run("audit", "notes", "--json")
    found = json.loads(failed.stdout)
    assert (failed.returncode, found["links"]["total"]) == (1, 1)
    assert found["duplicates"]["groups"] == [["gno://notes/copy.md", "gno://notes/copy2.md"]]
