"""Extensions are made as docs/CONTRIBUTING.md says, in a copy of the sources, and checked with real processes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.stress
ROOT = Path(__file__).resolve().parents[2]


class Checkout:
    """A copy of the sources that a test changes, and a machine on which it runs."""

    def __init__(self, folder: Path) -> None:
        self.sources = folder / "sources"
        for package in ("gnod", "gnoctl"):
            shutil.copytree(ROOT / package, self.sources / package)
        self.machine = Machine(folder)
        self.machine.environment["PYTHONPATH"] = str(self.sources)

    def add(self, path: str, text: str) -> None:
        (self.sources / path).write_text(text)

    def insert(self, path: str, before: str, line: str) -> None:
        """Insert a line before the one that begins with `before`, with its indentation."""
        lines = (self.sources / path).read_text().splitlines()
        at = next(number for number, text in enumerate(lines) if text.strip().startswith(before))
        indentation = lines[at].removesuffix(lines[at].lstrip())
        lines.insert(at, indentation + line)
        (self.sources / path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def checkout(short_tmp: Path) -> Iterator[Checkout]:
    checkout = Checkout(short_tmp)
    with checkout.machine:
        yield checkout


PLAYSCRIPT = '''
"""Play scripts: each speaker is a heading."""

from __future__ import annotations

import re

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import Converted


def _read(content: FileContent) -> Converted:
    text = re.sub(r"^([A-Z]+): ", r"## \\1\\n\\n", content.text(), flags=re.MULTILINE)
    return Converted(markdown=text, converter="play/1")


PLAY = Converter(label="a play script", mime="text/x-play", extensions="play", is_text=True, read=_read)
'''


def test_a_converter_is_one_module_and_one_entry(checkout: Checkout) -> None:
    checkout.add("gnod/ingest/formats/playscript.py", PLAYSCRIPT)
    checkout.insert("gnod/ingest/formats/registry.py", "REGISTRY", "from gnod.ingest.formats import playscript")
    checkout.insert("gnod/ingest/formats/registry.py", "*text.FORMATS", "playscript.PLAY,")
    machine = checkout.machine
    (machine.notes / "hamlet.play").write_text("HAMLET: Words, words, words.\nPOLONIUS: What is the matter?\n")

    machine.ok("init", str(machine.notes), "--name", "notes")

    [hit] = machine.json("search", "words")["hits"]
    assert (hit["path"], hit["title"]) == ("hamlet.play", "HAMLET")
    why = machine.json("why", str(machine.notes / "hamlet.play"))
    assert why["collections"][0]["converter"] == "play/1"
    assert machine.ok("get", "notes/hamlet.play").startswith("## HAMLET")


UPTIME = '''
"""`gnoctl uptime`."""

from __future__ import annotations

from gnoctl.command import JsonOptions, command
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonUptimeResult


@command("uptime", JsonOptions)
def uptime(options: JsonOptions) -> None:
    """Print how long the daemon has been running."""
    result = options.call("daemon.uptime", NoParams(), DaemonUptimeResult)
    options.show(result, f"{result.seconds:.0f} s")
'''

UPTIME_RESULT = """

class DaemonUptimeResult(Result, frozen=True, kw_only=True):
    seconds: float
"""


def test_a_method_takes_three_places_and_a_command_two(checkout: Checkout) -> None:
    protocol = checkout.sources / "gnod/protocol/daemon.py"
    protocol.write_text(protocol.read_text() + UPTIME_RESULT)
    checkout.insert(
        "gnod/protocol/methods.py",
        '_again("daemon.status"',
        '_again("daemon.uptime", NoParams, d.DaemonUptimeResult, "Return the time since the start."),',
    )
    checkout.insert("gnod/handlers/daemon.py", "async def daemon_shutdown", "async def daemon_uptime(_, __):")
    checkout.insert(
        "gnod/handlers/daemon.py",
        "async def daemon_shutdown",
        "    from gnod.protocol.daemon import DaemonUptimeResult",
    )
    checkout.insert(
        "gnod/handlers/daemon.py", "async def daemon_shutdown", "    return DaemonUptimeResult(seconds=stats.uptime_s)"
    )
    checkout.insert("gnod/handlers/daemon.py", "async def daemon_shutdown", "")
    handlers = checkout.sources / "gnod/handlers/daemon.py"
    handlers.write_text(handlers.read_text().replace("named(daemon_status", "named(daemon_uptime, daemon_status"))
    checkout.add("gnoctl/commands/uptime.py", UPTIME)
    checkout.insert("gnoctl/commands/__init__.py", '"socket": "daemon"', '"uptime": "uptime",')

    assert checkout.machine.json("uptime")["seconds"] > 0
    assert checkout.machine.ok("uptime").endswith(" s\n")
    assert "how long the daemon has been running" in checkout.machine.ok("--help")
