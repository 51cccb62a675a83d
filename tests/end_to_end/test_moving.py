"""`gnoctl mv` and `gnoctl audit` with a daemon, and the proposals of `unresolved` for files that others renamed."""

from __future__ import annotations

import json

import pytest

from tests.machine import Machine, wait_until

pytestmark = pytest.mark.slow

FILES = {
    "start.md": "# Start\n\nThe [[Savanna|zebra]] and [the plain](sub/plain.md).\n",
    "Savanna.md": "# Savanna\n\n[back](start.md#Start)\n",
    "sub/plain.md": "# Plain\n\n[up](../Savanna.md)\n",
}


@pytest.fixture
def vault(emptied: Machine) -> Machine:
    for name, text in FILES.items():
        (emptied.notes / name).parent.mkdir(exist_ok=True)
        (emptied.notes / name).write_text(text)
    emptied.ok("init", str(emptied.notes))
    return emptied


def texts(machine: Machine) -> dict[str, str]:
    return {path.relative_to(machine.notes).as_posix(): path.read_text() for path in machine.notes.rglob("*.md")}


def test_a_move_is_shown_done_and_undone(vault: Machine) -> None:
    shown = vault.ok("mv", "notes/Savanna.md", "notes/Africa/Veld.md", "--dry-run")
    assert "-The [[Savanna|zebra]] and [the plain](sub/plain.md).\n+The [[Veld|zebra]]" in shown
    assert "--- Savanna.md\n+++ Africa/Veld.md\n" in shown
    assert shown.splitlines()[-1] == (
        f"would move {vault.notes}/Savanna.md to {vault.notes}/Africa/Veld.md; 3 links in 3 files rewritten"
    )
    assert texts(vault) == FILES
    asked = vault.run("mv", "notes/Savanna.md", "notes/Africa/Veld.md")
    assert asked.returncode == 2
    assert "add --yes" in asked.stderr
    assert texts(vault) == FILES

    moved = vault.json("mv", str(vault.notes / "Savanna.md"), str(vault.notes / "Africa/Veld.md"), "--yes")
    assert (moved["files"], moved["links"], moved["left"], moved["is_done"]) == (3, 3, [], True)
    assert texts(vault) == {
        "start.md": "# Start\n\nThe [[Veld|zebra]] and [the plain](sub/plain.md).\n",
        "Africa/Veld.md": "# Savanna\n\n[back](../start.md#Start)\n",
        "sub/plain.md": "# Plain\n\n[up](../Africa/Veld.md)\n",
    }
    links = vault.json("links", "notes/Africa/Veld.md")
    assert {link["uri"] for link in links["backlinks"]} == {"gno://notes/start.md", "gno://notes/sub/plain.md"}
    assert vault.json("unresolved")["total"] == 0

    assert "restored 3 files" in vault.ok("mv", "--undo")
    assert texts(vault) == FILES
    assert vault.json("links", "notes/Savanna.md")["total_backlinks"] == 2
    assert "there is no move to undo" in vault.run("mv", "--undo").stderr


def test_what_is_refused(vault: Machine) -> None:
    vault.ok("mv", "notes/sub", "notes/deep/", "--yes")
    assert "[up](../../Savanna.md)" in (vault.notes / "deep/sub/plain.md").read_text()
    for arguments, message in (
        (["notes/no.md", "notes/x.md"], "there is no file or folder"),
        (["notes/start.md", "notes/Savanna.md"], "exists already"),
        (["notes/start.md", "other/start.md"], "is not in the collection notes"),
        (["notes/start.md", "/tmp/start.md"], "is not in the collection notes"),
        (["notes/start.md", "gno://notes/../start.md"], "is not inside the collection"),
        (["notes/start.md"], "name the file and its new path"),
    ):
        failed = vault.run("mv", *arguments, "--yes")
        assert failed.returncode != 0, arguments
        assert message in failed.stderr
    found = vault.call("document.move", old="notes/start.md", new="notes/begin.md", dry_run=True)
    (vault.notes / "Savanna.md").write_text("# Savanna\n\nChanged. [back](start.md#Start)\n")
    failed = vault.run("mv", "notes/start.md", "notes/begin.md", "--dry-run")
    assert failed.returncode == 0
    again = vault.call("document.move", old="notes/start.md", new="notes/begin.md", dry_run=True)
    assert again["digest"] != found["digest"]


def test_a_read_only_file_stops_the_move(vault: Machine) -> None:
    (vault.notes / "start.md").chmod(0o444)
    done = vault.run("mv", "notes/Savanna.md", "notes/Veld.md", "--yes")
    assert "read-only" in done.stderr
    assert texts(vault) == FILES


def test_a_rename_by_another_program_is_noticed(vault: Machine) -> None:
    (vault.notes / "sub/plain.md").rename(vault.notes / "Quite another name.md")
    wait_until(lambda: vault.json("unresolved")["total"] == 2)
    links = vault.json("unresolved")["links"]
    assert links[0]["target"] == "../Savanna.md"  # now it leads out of the collection
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
