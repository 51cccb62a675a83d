"""The line of the shell: printf, nc and `gnoctl socket`, as the documentation has it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess

import pytest

from tests.editors.conftest import Desk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("nc"), reason="nc is not installed: apt-get install netcat-openbsd"),
]

LINE = (
    r"""printf '{"jsonrpc":"2.0","id":1,"method":"search.lexical","params":{"query":"lighthouse"}}\n' """
    r"""| nc -U "$(gnoctl socket)" """
)


def paths(line: str) -> list[str]:
    answer = json.loads(line)
    assert answer["id"] == 1
    return [hit["path"] for hit in answer["result"]["hits"]]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_line_of_shell_searches(desk: Desk, shell: str) -> None:
    desk.ok("daemon", "start")
    # Debian's nc goes on listening after its input has ended, until somebody ends it.
    with subprocess.Popen(
        [shell, "-c", LINE],
        env=desk.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as searching:
        assert searching.stdout
        try:
            assert paths(searching.stdout.readline()) == ["harbour.md"]
        finally:
            os.killpg(searching.pid, signal.SIGTERM)


def test_with_an_option_nc_ends_by_itself(desk: Desk) -> None:
    """`-N` ends our half of the connection; the daemon answers what it was asked, and closes its own."""
    desk.ok("daemon", "start")
    done = subprocess.run(
        ["sh", "-c", LINE.replace("nc -U", "nc -N -U")],
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert paths(line) == ["harbour.md"]
