"""Test moves of files: links lead to the same files before and after, and nothing else in a file changes."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import DocumentNotFound, GnoError, MoveConflict, NothingToUndo, PathOutsideRoot, Refused
from gnod.ingest.moving import journal
from gnod.ingest.moving.rewriting import Edit, apply, reverse
from tests.ingest.moving import Vault, renamed


def moved_text(folder: Path, link: str, old: str, new: str, *others: str) -> str:
    """Return the text of a file with this link after a move in a vault with these files."""
    vault = Vault(folder, {"here.md": f"{link}\n"} | dict.fromkeys((old, *others), "# Text\n"))
    before = vault.targets()
    plan = vault.move(old, new)
    assert vault.targets() == renamed(before, old, new)
    assert plan.left == []
    return vault.text("here.md").removesuffix("\n")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[[Note]] ![[note#Head|x]] [[Note#^b]] [[Other]]", "[[New]] ![[New#Head|x]] [[New#^b]] [[Other]]"),
        ("[[dir/Note]] [[dir/Note.md|x]] [[Note.md]]", "[[dir/New]] [[dir/New.md|x]] [[New.md]]"),
        ("[[./dir/Note]] [[/dir/Note]]", "[[./dir/New]] [[/dir/New]]"),
        ("| a |\n|---|\n| [[Note\\|x]] |", "| a |\n|---|\n| [[New\\|x]] |"),
        (
            '[Note](dir/Note.md#a%20b) ![Note.md](./dir/Note.md "dir/Note.md")',
            '[Note](dir/New.md#a%20b) ![Note.md](./dir/New.md "dir/Note.md")',
        ),
        (
            "[x](<dir/Note.md>) [y](dir/Note) [z](/dir/Note.md?a=b#c)",
            "[x](<dir/New.md>) [y](dir/New) [z](/dir/New.md?a=b#c)",
        ),
        (
            "[x][r] and [r] and [R][]\n\n[r]: dir/Note.md 'dir/Note.md'",
            "[x][r] and [r] and [R][]\n\n[r]: dir/New.md 'dir/Note.md'",
        ),
        ("<a title='x' href='dir/Note.md#a'>x</a>", "<a title='x' href='dir/New.md#a'>x</a>"),
        (
            "---\nNote: '[[Note|x]]'\nup: Note\nrelated:\n  - Note\n  - \"[[dir/Note]]\"\n---\nNote",
            "---\nNote: '[[New|x]]'\nup: New\nrelated:\n  - New\n  - \"[[dir/New]]\"\n---\nNote",
        ),
        (
            "`[[Note]]` \\[[Note]] <!-- [[Note]] -->\n\n```\n[[Note]]\n```",
            "`[[Note]]` \\[[Note]] <!-- [[Note]] -->\n\n```\n[[Note]]\n```",
        ),
    ],
)
def test_a_renamed_note(tmp_path: Path, link: str, expected: str) -> None:
    assert moved_text(tmp_path, link, "dir/Note.md", "dir/New.md", "Other.md") == expected


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("a b (c).md", "[x](a%20b%20%28c%29.md) [x](<a b (c).md>) [[a b (c)]]"),
        ("é&ü.md", "[x](é%26ü.md) [x](<é%26ü.md>) [[é&ü]]"),
        ("100%: why?.md", "[x](100%25%3A%20why%3F.md) [x](<100%25%3A why%3F.md>) [[100%: why?]]"),
        ("日本.md", "[x](日本.md) [x](<日本.md>) [[日本]]"),
    ],
)
def test_names_that_need_encoding(tmp_path: Path, new: str, expected: str) -> None:
    assert moved_text(tmp_path, "[x](n.md) [x](<n.md>) [[n]]", "n.md", new) == expected


def test_letters_stay_encoded_where_they_were(tmp_path: Path) -> None:
    assert moved_text(tmp_path, "[x](caf%C3%A9.md)", "café.md", "thé.md") == "[x](th%C3%A9.md)"


@pytest.mark.parametrize(
    ("link", "old", "new", "others", "expected"),
    [
        ("[[a]]", "x/a.md", "y/b.md", ("z/b.md",), "[[y/b]]"),  # the name is no longer unique
        ("[[b]]", "x/a.md", "y/b.md", ("b.md",), "[[b]]"),  # `b` is also the whole path
        ("[[b]]", "x/a.md", "y/b.md", ("z/b.md",), "[[z/b]]"),  # another file takes the name
        ("[[a]]", "x/a.md", "y/a.md", (), "[[a]]"),
        ("[[x/a]]", "x/a.md", "y/a.md", (), "[[y/a]]"),
        ("[[p/a]]", "x/p/a.md", "x/q/b.md", (), "[[q/b]]"),
        ("![[i.png]] ![[x/i.png]] ![](x/i.png)", "x", "y/z", ("x/i.png",), "![[i.png]] ![[y/z/i.png]] ![](y/z/i.png)"),
        ("[x](x/) [x](x/b.md)", "x", "y", ("x/index.md", "x/b.md"), "[x](y/) [x](y/b.md)"),
        ("[x](x/)", "x/README.md", "x/read.md", (), "[x](x/read.md)"),
        ("[[x]] [[X]]", "x/x.md", "x/y.md", (), "[[y]] [[y]]"),
    ],
)  # fmt: skip
def test_names_and_paths(tmp_path: Path, link: str, old: str, new: str, others: tuple[str, ...], expected: str) -> None:
    file = (old,) if "." in old else ()
    vault = Vault(tmp_path, {"here.md": link} | dict.fromkeys((*file, *others), "# Text\n"))
    before = vault.targets()
    assert vault.move(old, new).left == []
    assert (vault.text("here.md"), vault.targets()) == (expected, renamed(before, old, new))


def test_relative_links_in_the_moved_note(tmp_path: Path) -> None:
    links = "[a](a.md) ![](../i.png) [b](./s/b.md#x) [own](#h) [[a]] [gone](gone.md) <https://e.org/a.md>"
    vault = Vault(tmp_path, {"d/n.md": links, "d/a.md": "# A\n", "i.png": b"1", "d/s/b.md": "# B\n"})
    vault.move("d/n.md", "e/f/n.md")
    assert vault.text("e/f/n.md") == (
        "[a](../../d/a.md) ![](../../i.png) [b](../../d/s/b.md#x) [own](#h) [[a]] [gone](gone.md) <https://e.org/a.md>"
    )


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("here.org", "[[file:d/n.org::*Head][n]] [[./d/n.org]]\n", "[[file:e/m.org::*Head][n]] [[./e/m.org]]\n"),
        ("here.rst", "`x <d/n.org>`__ and r_\n\n.. _r: d/n.org\n", "`x <e/m.org>`__ and r_\n\n.. _r: e/m.org\n"),
        (
            "here.rst",
            ":doc:`d/n` :doc:`x </d/n>`\n\n.. include:: d/n.org\n",
            ":doc:`e/m` :doc:`x </e/m>`\n\n.. include:: e/m.org\n",
        ),
        (
            "here.adoc",
            "link:d/n.org[n] xref:d/n.org#x[n] image::d/n.org[]\n",
            "link:e/m.org[n] xref:e/m.org#x[n] image::e/m.org[]\n",
        ),
    ],
)
def test_other_markups(tmp_path: Path, source: str, text: str, expected: str) -> None:
    vault = Vault(tmp_path, {source: text, "d/n.org": "* Head\n"})
    before = vault.targets()
    assert vault.move("d/n.org", "e/m.org").left == []
    assert (vault.text(source), vault.targets()) == (expected, renamed(before, "d/n.org", "e/m.org"))


@pytest.mark.parametrize(
    "around",
    [
        lambda link: f"a\r\n\r\n\r\n\r\n{link}  \r\nmixed\n{link}\rend".encode(),
        lambda link: f"\ufeffé {link}\r\n".encode(),
        lambda link: f"\ufeffé {link}\n".encode("utf-16-le"),
        lambda link: unicodedata.normalize("NFD", f"é ü\x0c\x01 한국 {link} é\n\n\n").encode(),
        lambda link: f"ﬁ {link} \u2028 {link}\x85{link}".encode(),
    ],
)  # fmt: skip
def test_all_other_bytes_stay(tmp_path: Path, around: object) -> None:
    assert callable(around)
    files = {"here.md": around("[[e/Note|x]] [é](e/Note.md)"), "e/Note.md": "# é\n"}
    vault = Vault(tmp_path, files)
    mode = 0o640
    (vault.root / "here.md").chmod(mode)
    assert vault.move("e/Note.md", "e/New.md").left == []
    assert vault.files()["here.md"] == around("[[e/New|x]] [é](e/New.md)")
    assert (vault.root / "here.md").stat().st_mode & 0o777 == mode


def test_links_that_cannot_be_rewritten_are_listed_and_stay(tmp_path: Path) -> None:
    files: Mapping[str, str | bytes] = {
        "latin.md": "caf\xe9 d\xe9j\xe0 vu [[n]]\n".encode("latin-1"),
        "page.html": "<p><a href='n.md'>n</a></p>",
        "two.md": "[[t]]\n",
        "ok.md": "[[n]]\n",
        "a/t.md": "1\n",
        "b/t.md": "2\n",
        "n.md": "# N\n",
    }
    vault = Vault(tmp_path, files)
    plan = vault.move("n.md", "a [1].md")
    assert {(link.path, link.target) for link in plan.left} == {
        ("latin.md", "n"),
        ("page.html", "n.md"),
        ("ok.md", "n"),
    }
    assert {path: data for path, data in vault.files().items() if path != "a [1].md"} == {
        path: data if isinstance(data, bytes) else data.encode() for path, data in files.items() if path != "n.md"
    }
    assert [link.path for link in vault.plan("a/t.md", "a/s.md").left] == ["two.md"]


def test_refusals_change_nothing(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"a.md": "[[b]]\n", "b.md": "# B\n", "d/c.md": "# C\n"})
    (vault.root / "link.md").symlink_to("a.md")
    before = vault.files()
    refused: list[tuple[str, str, type[GnoError]]] = [
        ("no.md", "x.md", DocumentNotFound),
        ("a.md", "b.md", MoveConflict),
        ("a.md", "../x.md", PathOutsideRoot),
        ("d", "d/e", Refused),
        ("link.md", "x.md", Refused),
        ("a.md", "node_modules/a.md", Refused),
        ("", "x", Refused),
        ("a.md", "x\0.md", Refused),
    ]
    for old, new, error in refused:
        with pytest.raises(error):
            vault.move(old, new)
    (vault.root / "a.md").write_text("[[b]] changed\n")
    with pytest.raises(MoveConflict, match="has changed just now"):
        vault.move("b.md", "x.md")
    (vault.root / "a.md").write_text("[[b]]\n")
    assert vault.files() == before
    assert not vault.journal.exists()


def test_a_file_into_a_folder_and_a_change_of_case(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"a.md": "[b](b.md)\n", "b.md": "# B\n", "d/c.md": "# C\n"})
    vault.move("b.md", "d")
    assert vault.text("a.md") == "[b](d/b.md)\n"
    vault.move("d/b.md", "d/B.md")
    assert vault.text("a.md") == "[b](d/b.md)\n"  # the link still leads to the file
    assert "d/B.md" in vault.files()


def test_paths_in_another_unicode_form(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"a.md": "[b](\xfc/\xe9.md)\n", "u\u0308/e\u0301.md": "# B\n"})
    vault.move("\xfc/\xe9.md", "\xfc/c.md")
    assert vault.files().keys() == {"a.md", "u\u0308/c.md"}
    vault.move("a.md", "\xfc")
    assert vault.files().keys() == {"u\u0308/a.md", "u\u0308/c.md"}


def test_a_note_whose_links_stay_right_is_not_read(tmp_path: Path) -> None:
    """A later edit of it causes no conflict: links to pictures by name stay the same when their folder moves."""
    vault = Vault(tmp_path, {"a.md": "![[i.png]]\n", "b.md": "![](x/i.png)\n", "x/i.png": b"1"})
    (vault.root / "a.md").write_text("![[i.png]] edited\n")
    assert [file.path for file in vault.plan("x", "y").files] == ["b.md"]


def test_undo(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"a.md": "[b](b.md) [[b]]\n", "b.md": "[a](a.md)\n"})
    before = vault.files()
    vault.move("b.md", "new/folders/c.md")
    journal.undo(vault.journal)
    assert vault.files() == before
    assert not (vault.root / "new").exists()
    with pytest.raises(NothingToUndo):
        journal.undo(vault.journal)
    vault.index()
    vault.move("b.md", "c.md")
    (vault.root / "a.md").write_text("edited since\n")
    with pytest.raises(MoveConflict, match=r"a\.md changed since the move"):
        journal.undo(vault.journal)
    assert vault.text("a.md") == "edited since\n"


def test_a_failure_in_the_middle_restores_all(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"a.md": "[[c]]\n", "b.md": "[[c]]\n", "c.md": "# C\n"})
    before = vault.files()
    plan = vault.plan("c.md", "x/d.md")
    (vault.root / "b.md").write_text("changed after the plan\n")
    with pytest.raises(MoveConflict):
        journal.carry_out(vault.journal, "notes", plan)
    assert vault.files() == before | {"b.md": b"changed after the plan\n"}
    assert not vault.journal.exists()
    (vault.root / "b.md").write_bytes(before["b.md"])
    (vault.root / "x").write_text("a file is where a folder must be\n")
    with pytest.raises(GnoError):
        journal.carry_out(vault.journal, "notes", plan)
    assert vault.files() == before | {"x": b"a file is where a folder must be\n"}


@pytest.mark.parametrize("step", range(4))
def test_a_crash_is_undone(tmp_path: Path, step: int) -> None:
    """If a process dies at any step, `--undo` restores the files, and no other move starts before that."""
    vault = Vault(tmp_path, {"a.md": "[[c]]\n", "b.md": "[[c]]\n", "c.md": "# C\n"})
    before = vault.files()
    plan = vault.plan("c.md", "d.md")
    process = os.fork()
    if process == 0:
        renames = 0

        def counted(event: str, _: object) -> None:
            nonlocal renames
            renames += event == "os.rename"
            if renames == step + 2:  # the first rename completes the journal
                os._exit(0)

        import sys

        sys.addaudithook(counted)
        journal.carry_out(vault.journal, "notes", plan)
        os._exit(1)
    assert os.waitpid(process, 0)[1] == 0
    if step < 3:
        with pytest.raises(MoveConflict, match="interrupted"):
            journal.carry_out(vault.journal, "notes", plan)
    journal.undo(vault.journal)
    assert {path: data for path, data in vault.files().items() if not path.startswith(".")} == before


NAMES = st.sampled_from(["a", "B", "a b", "ü", "c(1)", "d.e", "index", "100%"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")
STYLES = (
    "[[{name}]]", "![[{path}|x]]", "[[{path}.md#h]]", "[x]({relative})", "![x](<{relative}>)", "<a href='{relative}'>",
    "[x][r{n}]\n\n[r{n}]: {relative}#h\n", "[[./{bare}]]", "[[/{path}]]", "[x](/{encoded})",
)  # fmt: skip


@st.composite
def vaults(draw: st.DrawFn) -> tuple[dict[str, str], str, str]:
    """Return files, the path to move, and its new path."""
    from urllib.parse import quote

    paths = draw(st.lists(PATHS, min_size=2, max_size=7, unique_by=str.lower))
    files = {}
    for source in paths:
        lines = []
        for number, (target, style) in enumerate(
            draw(st.lists(st.tuples(st.sampled_from(paths), st.sampled_from(STYLES)), max_size=5))
        ):
            bare = os.path.relpath(target, os.path.dirname(source) or ".")  # noqa: PTH120
            lines.append(
                style.format(
                    name=os.path.basename(target)[:-3],  # noqa: PTH119
                    path=target[:-3],
                    bare=bare[:-3],
                    relative=quote(bare),
                    encoded=quote(target),
                    n=number,
                )
            )
        files[source] = "# h\n\n" + "\n\n".join(lines) + "\n"
    old = draw(st.sampled_from([*paths, *{path.rpartition("/")[0] for path in paths if "/" in path}]))
    new = draw(PATHS)
    return files, old, new if old.endswith(".md") else new[:-3]


@pytest.mark.stress
@given(vaults())
def test_any_move_keeps_all_targets(drawn: tuple[dict[str, str], str, str]) -> None:
    files, old, new = drawn
    with TemporaryDirectory() as folder:
        vault = Vault(Path(folder), files)
        content, before = vault.files(), vault.targets()
        try:
            plan = vault.move(old, new)
        except (MoveConflict, Refused):
            assert vault.files() == content
            return
        assert {link.problem for link in plan.left} <= {"it may lead to several files"}
        lost = renamed(before, plan.old, plan.new) - vault.targets()
        assert all(len(targets) != 1 for _, targets, _ in lost)
        journal.undo(vault.journal)
        assert vault.files() == content


@given(st.binary(max_size=40), st.data())
def test_edits_are_reversed(data: bytes, draw: st.DataObject) -> None:
    starts = sorted(draw.draw(st.sets(st.integers(0, len(data)), max_size=4)))
    ends = [draw.draw(st.integers(start, end)) for start, end in zip(starts, [*starts[1:], len(data)], strict=False)]
    edits = [Edit(s, data[s:e], draw.draw(st.binary(max_size=5))) for s, e in zip(starts, ends, strict=False)]
    assert apply(apply(data, edits), reverse(edits)) == data
