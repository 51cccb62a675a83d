"""Files in archives and mails are separate documents: found, read, explained, and as current as their container."""

from __future__ import annotations

import contextlib
import io
import os
import random
import tarfile
import time
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Any

import apsw
import pytest

from benchmarks.hostile_samples import zip_of_zeros
from tests.machine import Machine, temporary_machine, wait_until
from tests.pdf_files import pdf

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOTE = "# Inner note\n\nThe heron stands in the reeds.\n"


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def mail(subject: str, **attachments: bytes) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ada@example.org", "bob@example.org", subject
    message["Date"] = "Tue, 03 Mar 2026 10:00:00 +0000"
    message.set_content(f"The body of {subject}.\n")
    for name, data in attachments.items():
        name = name.replace("_", ".")
        kind = ("application", "pdf") if name.endswith("pdf") else ("text", "markdown")
        message.add_attachment(data, maintype=kind[0], subtype=kind[1], filename=name)
    return message


def encrypted(name: str) -> bytes:
    """Return a zip whose only file is marked as encrypted."""
    data = bytearray(zipped({name: "secret words"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    """A machine whose daemon serves all tests."""
    return emptied


def start(machine: Machine) -> None:
    machine.ok("init", str(machine.notes), "--name", "notes")


def paths(machine: Machine) -> set[str]:
    return {each["path"] for each in machine.json("ls", "notes", "--limit", "1000")["documents"]}


def why(machine: Machine, path: str) -> tuple[str, str]:
    (view,) = machine.json("why", f"notes/{path}")["collections"]
    return view["verdict"], view["reason"]


def why_time(machine: Machine, path: str) -> Any:
    (view,) = machine.json("why", f"notes/{path}")["collections"]
    return view["indexed_at"]


def test_files_in_archives_and_mails_are_found_and_read(machine: Machine) -> None:
    inner = zipped({"deep/x.md": "# Deep\n\nThe bittern booms at night.\n"})
    files = {
        "a.zip": zipped({"note.md": NOTE, "sub/report.pdf": pdf(["The osprey dives for fish."]), "inner.zip": inner}),
        "b.tar.gz": tarred({"./docs/ibis.md": b"# Ibis\n\nThe ibis walks slowly.\n"}),
        "c.eml": bytes(mail("Plovers", paper_pdf=pdf(["Grebes dance."]), list_md=b"# List\n\nThe avocet wades.\n")),
        "d.mbox": b"".join(
            f"From ada@example.org Tue Mar  3 10:0{n}:00 2026\n".encode()
            + bytes(mail(subject, notes_md=f"Curlew number{n}.\n".encode())).replace(b"\n\n\n", b"\n\n")
            + b"\n"
            for n, subject in enumerate(("Message 1", "Message 2", "Re: Message 1"), 1)
        ),
    }
    for name, data in files.items():
        (machine.notes / name).write_bytes(data)
    start(machine)
    assert machine.paths("heron") == ["a.zip!/note.md"]
    (hit,) = machine.json("search", "osprey")["hits"]
    assert (hit["path"], hit["location"]["page"], hit["title"]) == ("a.zip!/sub/report.pdf", 1, "A real title")
    assert machine.paths("bittern") == ["a.zip!/inner.zip!/deep/x.md"]
    assert machine.paths("walks slowly") == ["b.tar.gz!/docs/ibis.md"]
    assert machine.paths("plovers") == ["c.eml"]
    assert machine.paths("grebes") == ["c.eml!/paper.pdf"]
    assert machine.paths("avocet") == ["c.eml!/list.md"]
    assert machine.paths("number2") == ["d.mbox!/2/notes.md"]
    (hit,) = machine.json("search", '"body of Re: Message 1"')["hits"]
    assert (hit["path"], hit["location"]["message"]) == ("d.mbox!/Message 1", 2)
    for reference in ("notes/a.zip!/note.md", "gno://notes/a.zip!/note.md", str(machine.notes / "a.zip!/note.md")):
        got = machine.json("get", reference)
        assert (got["text"], got["stale"]) == (NOTE, False)
    assert {each["path"] for each in machine.json("ls", "notes/a.zip!")["documents"]} == {
        "a.zip!/note.md",
        "a.zip!/sub/report.pdf",
        "a.zip!/inner.zip",
        "a.zip!/inner.zip!/deep/x.md",
    }
    assert machine.json("multi-get", "notes/**/*.md")["documents"]
    assert why(machine, "a.zip!/note.md")[0] == "indexed"
    assert why(machine, "a.zip!/nothing.md")[0] == "missing"
    assert machine.json("search", "heron", "--path", "a.zip")["total"] == 1


def test_an_edited_archive_is_read_again_only_where_it_changed(machine: Machine) -> None:
    members = {"one.md": "# One\n\nfirst word\n", "two.md": "# Two\n\nsecond word\n", "three.md": "# Three\n\nthird\n"}
    archive = machine.notes / "a.zip"
    archive.write_bytes(zipped(members))
    start(machine)
    before = machine.call("index.why", path="notes/a.zip!/one.md")["collections"][0]["indexed_at"]
    time.sleep(1.1)  # times have whole seconds
    members.pop("three.md")
    archive.write_bytes(zipped(members | {"two.md": "# Two\n\nchanged word\n", "four.md": "# Four\n\nfourth\n"}))
    machine.ok("index")
    assert paths(machine) == {"a.zip", "a.zip!/one.md", "a.zip!/two.md", "a.zip!/four.md"}
    assert machine.paths("changed") == ["a.zip!/two.md"]
    assert not machine.paths("third")
    assert why_time(machine, "a.zip!/one.md") == before
    assert why_time(machine, "a.zip!/two.md") > before
    assert machine.json("get", "notes/a.zip!/one.md")["stale"] is False
    archive.rename(machine.notes / "b.zip")
    machine.ok("index")
    assert paths(machine) == {"b.zip", "b.zip!/one.md", "b.zip!/two.md", "b.zip!/four.md"}
    (machine.notes / "b.zip").write_bytes(b"PK\x03\x04 no zip any more")
    machine.ok("index")
    assert paths(machine) == set()
    assert why(machine, "b.zip!/one.md")[0] == "failed"


def test_a_removed_archive_takes_its_files_with_it(machine: Machine) -> None:
    (machine.notes / "a.zip").write_bytes(zipped({"one.md": NOTE, "in.zip": zipped({"two.md": "# Two\n\nbittern\n"})}))
    start(machine)
    assert len(paths(machine)) == 4
    (machine.notes / "a.zip").unlink()
    wait_until(lambda: not machine.paths("heron"))
    assert paths(machine) == set()
    assert why(machine, "a.zip!/one.md")[0] == "deleted"


def test_what_is_not_read_is_named_and_the_rest_is_found(machine: Machine) -> None:
    (machine.notes / "a.zip").write_bytes(
        zipped(
            {
                "note.md": NOTE,
                "photo.png": b"\x89PNG\r\n\x1a\n\0",
                "secret.zip": encrypted("a.md"),
                "bomb.zip": zip_of_zeros(["zeros.txt"], 60),
                "broken.pdf": b"%PDF-1.7\n",
            }
        )
    )
    start(machine)
    assert machine.paths("heron") == ["a.zip!/note.md"]
    verdict, reason = why(machine, "a.zip")
    assert verdict == "indexed"
    for said in (
        "photo.png: This .png file has no text: OCR does not read files inside other files",
        "secret.zip: The file is protected",
        "bomb.zip: The file is a zip",
    ):
        assert said in reason
    assert why(machine, "a.zip!/photo.png")[0] == "skipped"
    assert why(machine, "a.zip!/broken.pdf") == (
        "failed",
        "it is not indexed: The PDF is cut off: its end is missing. (corrupt)",
    )
    assert machine.json("status")["freshness"]["failed"] == 0


def test_hostile_names_stay_names(machine: Machine) -> None:
    names = ["../../../etc/passwd.md", "/abs.md", "C:\\dir\\win.md", "new\nline.md", "x!/y.md", "same.md", "./same.md"]
    (machine.notes / "a.zip").write_bytes(zipped({name: f"# Word\n\nword{n}\n" for n, name in enumerate(names)}))
    outer = machine.notes / "a.zip!"
    outer.mkdir()
    (outer / "abs.md").write_text("# Real\n\nA real file.\n")
    start(machine)
    expected = {"a.zip", "a.zip!/abs.md"} | {
        f"a.zip!/{name}"
        for name in ("etc/passwd.md", "C:/dir/win.md", "new\\x0aline.md", "x!_/y.md", "same.md", "same (2).md")
    }
    assert paths(machine) == expected
    assert machine.json("get", "notes/a.zip!/abs.md")["text"] == "# Real\n\nA real file.\n"
    assert machine.paths("word0") == ["a.zip!/etc/passwd.md"]


@pytest.mark.stress
def test_a_killed_daemon_leaves_whole_archives() -> None:
    """This test uses its own machine, so that it does not kill the daemon of the other tests."""
    chance = random.Random(1)
    with temporary_machine() as machine:
        for number in range(30):
            texts = {f"{n}.md": f"# N{n}\n\nheron{number}x part{n} {chance.random()}\n" for n in range(20)}
            (machine.notes / f"{number}.zip").write_bytes(zipped(texts))
        machine.configure()
        machine.start()
        wait_until(lambda: machine.call("document.list", scope="notes")["total"] > 0)
        machine.hang_up()
        machine.kill()
        machine.start()
        machine.ok("index")
        assert machine.call("document.list", scope="notes")["total"] == 30 * 21
        machine.ok("doctor")
        assert {each["path"] for each in machine.json("search", "heron7x", "--limit", "50")["hits"]} == {
            f"7.zip!/{n}.md" for n in range(20)
        }


def test_the_first_part_of_a_huge_mailbox_is_indexed(machine: Machine) -> None:
    box = machine.notes / "all.mbox"
    box.write_bytes(b"From ada@example.org Tue Mar  3 10:01:00 2026\n" + bytes(mail("Heron", list_md=b"The ibis.\n")))
    os.truncate(box, 2 << 30)
    start(machine)
    assert machine.paths("heron") == ["all.mbox"]
    assert machine.paths("ibis") == ["all.mbox!/list.md"]
    verdict, reason = why(machine, "all.mbox")
    assert verdict == "indexed"
    assert "of 2,147 MB" in reason


def test_files_of_an_outdated_converter_are_converted_again(machine: Machine) -> None:
    """The index has a zip with a mail and a note from a version of gnod that read mails differently."""
    (machine.notes / "a.zip").write_bytes(zipped({"in.eml": bytes(mail("Heron")), "note.md": NOTE}))
    (machine.notes / "b.eml").write_bytes(bytes(mail("Bittern")))
    (machine.notes / "c.md").write_text("# Ibis\n")
    start(machine)
    machine.quiet()
    machine.end()
    connection = apsw.Connection(str(machine.database), flags=apsw.SQLITE_OPEN_READWRITE)
    with contextlib.closing(connection):
        connection.execute("UPDATE documents SET converter = 'mail/4' WHERE converter LIKE 'mail/%'")
        connection.execute("UPDATE documents SET indexed_at = 0")
        connection.execute("UPDATE schema_meta SET value = '{}' WHERE key = 'converters'")
    machine.ok("index")
    found = {path: converter_and_time(machine, path) for path in sorted(paths(machine))}
    assert {path for path, (_, is_new) in found.items() if is_new} == {"a.zip", "a.zip!/in.eml", "b.eml"}
    assert not any(converter == "mail/4" for converter, _ in found.values())
    machine.end()
    with contextlib.closing(apsw.Connection(str(machine.database), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("UPDATE documents SET indexed_at = 0")
    machine.ok("index")
    assert not any(converter_and_time(machine, path)[1] for path in paths(machine))


def converter_and_time(machine: Machine, path: str) -> tuple[str, bool]:
    """Return the converter of a document, and whether the conversion came after the time was set to 0."""
    (view,) = machine.json("why", f"notes/{path}")["collections"]
    return view["converter"], not view["indexed_at"].startswith("1970")


def test_copies_inside_archives_are_one_hit(machine: Machine) -> None:
    (machine.notes / "note.md").write_text(NOTE)
    (machine.notes / "a.zip").write_bytes(zipped({"note.md": NOTE}))
    start(machine)
    (hit,) = machine.json("search", "heron")["hits"]
    assert (hit["path"], [each["path"] for each in hit["also"]]) == ("note.md", ["a.zip!/note.md"])
