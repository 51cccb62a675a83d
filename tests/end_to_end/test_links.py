"""Links through the daemon and `gnoctl` follow files that are added, deleted and renamed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.end_to_end.test_mcp_server import agent, refused, said
from tests.machine import Machine, temporary_machine, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FILES = {
    "start.md": "# Start\n\nThe zebra lives in [[Savanna#Plains]], see [old](gone.md).\n",
    "Savanna.md": "---\naliases: [Steppe]\n---\n# Savanna\n\n## Plains\n\n[[start]] zebra https://example.org\n",
    "page.html": "<html><body><p>A <a href='Savanna.md'>zebra</a> page</p></body></html>",
    "manual.org": "* Zebra\n\nSee [[file:Savanna.md][there]] and [[id:ab-1]].\n",
    "index.rst": "Zebra\n=====\n\n.. include:: Savanna.md\n\n:doc:`manual`\n",
    "book.adoc": "= Zebra\n\nxref:manual.org[there] and link:missing.pdf[x]\n",
    "alone.md": "# Alone\n\nzebra [[Steppe]] [[nobody]]\n",
}


@pytest.fixture(scope="module")
def vault() -> Iterator[Machine]:
    with temporary_machine() as machine:
        for name, text in FILES.items():
            (machine.notes / name).write_text(text)
        machine.ok("init", str(machine.notes))
        machine.ok("update")
        yield machine


def test_links_and_filters(vault: Machine) -> None:
    found = vault.json("backlinks", "notes/Savanna.md")["backlinks"]
    assert sorted((link["uri"][12:], link["line"], link["state"]) for link in found) == [
        ("alone.md", 3, "resolved"),
        ("index.rst", 4, "resolved"),
        ("manual.org", 3, "resolved"),
        ("page.html", 1, "resolved"),
        ("start.md", 3, "resolved"),
    ]
    assert "notes/start.md:3  The zebra lives in Savanna > Plains, see old." in vault.ok(
        "backlinks", "notes/Savanna.md"
    )
    assert "https://example.org  external" in vault.ok("links", str(vault.notes / "Savanna.md"))
    linking = {"alone.md", "index.rst", "manual.org", "page.html", "start.md"}
    assert {hit["path"] for hit in vault.json("search", "zebra links-to:steppe")["hits"]} == linking
    assert {hit["path"] for hit in vault.json("search", "linked-from:notes/start.md")["hits"]} == {"Savanna.md"}
    assert "there is no document 'nowhere'" in vault.run("search", "links-to:nowhere").stderr
    unresolved = vault.ok("unresolved", "notes").splitlines()
    assert [line.partition("  ")[2] for line in unresolved] == ["nobody", "missing.pdf", "ab-1", "gone.md"]
    assert vault.ok("orphans").split() == ["notes/alone.md", "notes/book.adoc", "notes/index.rst", "notes/page.html"]


def test_graph(vault: Machine) -> None:
    assert vault.ok("graph", "notes/start.md", "--depth", "1").splitlines() == [
        "notes/start.md  Start  1 out, 1 in",
        "  ↔ notes/Savanna.md  Savanna  1 out, 5 in",
    ]
    found = vault.json("graph", "notes/start.md")
    assert (len(found["nodes"]), found["total"], found["is_cut"]) == (6, 6, False)
    assert found == vault.json("graph", str(vault.notes / "start.md"), "--format", "json")
    assert '"gno://notes/start.md" -> "gno://notes/Savanna.md";' in vault.ok("graph", "--format", "dot")
    assert "n0 --> n3" in vault.ok("graph", "--scope", "notes", "--format", "mermaid")
    assert "--format must be tree, json, dot or mermaid, not 'svg'" in vault.run("graph", "--format", "svg").stderr


def test_mentions(vault: Machine) -> None:
    (vault.notes / "walk.md").write_text("# Walk\n\nOver the savanna, the `savanna` and the steppe.\n")
    (vault.notes / "walk.py").write_text("print('savanna')\n")
    vault.ok("index", "notes")
    assert vault.ok("mentions", "notes/Savanna.md").splitlines() == [
        "notes/walk.md:3  Over the savanna, the savanna and the steppe.",
        "notes/walk.md:3  Over the savanna, the savanna and the steppe.",
    ]
    found = vault.json("mentions", "notes/Savanna.md", "-n", "1", "--offset", "1")
    assert (found["names"], found["mentions"][0]["name"], found["total"]) == (["Savanna", "Steppe"], "Steppe", 2)
    assert "no other document has Walk outside links" in vault.run("mentions", "notes/walk.md").stderr
    for name in ("walk.md", "walk.py"):
        (vault.notes / name).unlink()
    vault.ok("index", "notes")


async def test_an_agent_follows_links(vault: Machine) -> None:
    async with agent(vault) as client:

        async def asked(what: str, **arguments: object) -> str:
            result = await client.call_tool("links", {"what": what, **arguments})
            assert not result.is_error
            return said(result)

        savanna = {"ref": "notes/Savanna.md"}
        listed = await asked("links", **savanna)
        assert listed.count("gno://notes/Savanna.md") == 1
        assert "\n\ngno://notes/Savanna.md\nline 8 -> gno://notes/start.md — start\n" in listed
        assert "\nline 8 (external) — https://example.org" in listed
        assert (await asked("backlinks", limit=1, offset=4, **savanna)).startswith("1 of 5")
        start = "gno://notes/start.md\nline 3 -> gno://notes/Savanna.md:6 — Savanna#Plains\n   | The zebra"
        assert start in await asked("backlinks", **savanna)
        assert "\n6|## Plains" in said(await client.call_tool("read", {"refs": ["gno://notes/Savanna.md:6"]}))
        assert "gno://notes/alone.md — Alone" in await asked("graph", **savanna)
        assert "gno://notes/start.md -> gno://notes/Savanna.md" in await asked("graph", scope="notes")
        assert (await asked("orphans", scope="notes")).startswith("4 of 4\n\ngno://notes/alone.md — Alone\n")
        assert "gno://notes/alone.md\nline 3 (unresolved) — nobody" in await asked("unresolved")
        assert await asked("mentions", **savanna) == "0 of 0"
        assert "parameter 'ref' is missing" in await refused(client, "links", {"what": "mentions"})
        related = said(await client.call_tool("links", {"what": "similar", **savanna}))
        assert "→ 1 link, ← 1 link" in related


def test_dead_links_set_the_exit_status(vault: Machine) -> None:
    done = vault.run("check-links", "notes")
    assert done.returncode == 1
    assert f"{vault.notes}/start.md:3: gone.md: the file does not exist" in done.stdout
    assert len(done.stdout.splitlines()) == 3


def test_links_follow_their_files(vault: Machine) -> None:
    def leads() -> list[str | None]:
        return [link["to"] for link in vault.json("links", "notes/start.md")["links"]]

    assert leads() == ["gno://notes/Savanna.md", None]
    (vault.notes / "Savanna.md").rename(vault.notes / "gone.md")
    wait_until(lambda: leads() == [None, "gno://notes/gone.md"])
    (vault.notes / "sub").mkdir()
    (vault.notes / "sub" / "savanna.md").write_text("# Other\n")
    wait_until(lambda: leads() == ["gno://notes/sub/savanna.md", "gno://notes/gone.md"])
    (vault.notes / "sub" / "savanna.md").unlink()
    (vault.notes / "gone.md").rename(vault.notes / "Savanna.md")
    wait_until(lambda: leads() == ["gno://notes/Savanna.md", None])
