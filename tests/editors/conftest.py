"""A user's desk: notes, `gnoctl` on the PATH, and the editors' plugins installed as their READMEs say."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import Machine

EDITORS = Path(__file__).resolve().parents[2] / "editors"

HARBOUR = """---
tags: [ops]
---
# Harbour

The pilot boards at dawn.


Zürich ships a lantern to the lighthouse keeper.
"""


class Desk(Machine):
    """`commands` tells which commands of gnoctl the editor ran."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        programs = folder / "bin"
        programs.mkdir()
        self._log = folder / "gnoctl.log"
        script = programs / "gnoctl"
        python, log = shlex.quote(sys.executable), shlex.quote(str(self._log))
        script.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {python} -m gnoctl "$@"\n')
        script.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        self.harbour = self.notes / "harbour.md"
        self.table = self.notes / "stock.csv"

    def commands(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    def rest(self) -> None:
        """Stop the daemon, and forget what was run."""
        self.run("daemon", "stop")
        self._log.unlink(missing_ok=True)


@contextlib.contextmanager
def strange_socket(folder: Path) -> Iterator[tuple[Path, socket.socket]]:
    """Yield a socket that belongs to another user, and what listens there."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    path = folder / "strange.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        os.chown(path, 61_234, -1)
        yield path, listener
    path.unlink()


@pytest.fixture(scope="module")
def prepared() -> Iterator[Desk]:
    with Desk.in_temporary_folder() as desk:
        desk.harbour.write_text(HARBOUR)
        desk.write(garden_md="# Garden\n\nA lantern hangs in the apple tree.\n")
        desk.table.write_text("item,count\nlanternfish,12\n")
        (desk.notes / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing more")
        desk.ok("collection", "add", str(desk.notes), "--name", "notes")
        yield desk


@pytest.fixture
def desk(prepared: Desk) -> Iterator[Desk]:
    """One desk for all tests of a file, put back as it was; its daemon may be running or not."""
    config = prepared.config.read_text()
    yield prepared
    if prepared.config.read_text() != config:
        prepared.rest()
        prepared.config.write_text(config)


LINKS = """# Links

See [[Harbour#Harbour|the harbour]] and [a garden](garden.md).

Outside: https://example.org/x
[[nowhere]]
A [[twin]].

The harbour is not linked here.
"""


@pytest.fixture
def linked(prepared: Desk) -> Iterator[Desk]:
    """The desk with notes that have links, while a test runs."""
    texts = {"links.md": LINKS, "a/twin.md": "# Twin\n", "b/twin.md": "# Twin\n\nAnother.\n"}
    for name, text in texts.items():
        (prepared.notes / name).parent.mkdir(exist_ok=True)
        (prepared.notes / name).write_text(text)
    prepared.ok("index")
    yield prepared
    for name in texts:
        (prepared.notes / name).unlink()
    prepared.ok("index")
