"""The examples of tests/README.md are tests that pass, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS / "README.md").read_text(encoding="utf-8")
IMPORTS = """
import signal
import subprocess

from gnod.errors import MethodNotFound
from gnod.protocol.search import SearchLexicalParams
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import found, hit
from tests.daemon.small_daemon_process import daemon as small_daemon
from tests.editors.conftest import Desk
from tests.machine import Machine, wait_until
from tests.rpc.harness import serving
from tests.small_index import SmallIndex

pytest_plugins = [f"tests.{folder}conftest" for folder in ("", "client.", "editors.", "end_to_end.")]
"""


@pytest.mark.stress
def test_the_examples_pass(tmp_path: Path) -> None:
    (examples,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "test_examples.py").write_text(f"from __future__ import annotations\n{IMPORTS}\n{examples}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-c",
        str(TESTS.parent / "pyproject.toml"),
        str(tmp_path),
    ]

    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=250)

    assert done.returncode == 0, done.stdout
    assert f"{examples.count('def test_')} passed" in done.stdout


def test_the_helpers_exist() -> None:
    table = PAGE.partition("## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `([\w/.]+)` \|", table, re.MULTILINE)
    assert len(rows) > 10
    for names, place in rows:
        files = [TESTS / place] if place.endswith(".py") else list((TESTS / place).glob("*.py"))
        text = "\n".join(file.read_text() for file in files)
        assert all(f"class {name}" in text for name in re.findall(r"\w+", names)), (names, place)


def test_the_fixtures_exist() -> None:
    table = PAGE.partition("## Fixtures")[2].partition("## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)[2:]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[0])}
    text = "\n".join(file.read_text() for file in (*TESTS.rglob("conftest.py"), TESTS / "real_models.py"))
    assert len(named) > 10
    assert {name for name in named if f"def {name}(" not in text} == set()
