"""What `gnoctl doctor` says of the sandbox of converters, for what their worker reports on each system."""

from __future__ import annotations

import pytest

from gnod.handlers.checks.doctor import sandbox


@pytest.mark.parametrize(
    ("held", "status", "said"),
    [
        (["Landlock (reading, writing, TCP)", "seccomp (network)"], "ok", "Landlock (reading, writing, TCP); seccomp"),
        (["macOS sandbox (writing, network)"], "ok", "network). A converter may read all of your files"),
        (["seccomp (network, programs)"], "ok", "programs). A converter may read all of your files"),
        ([], "warning", "no sandbox holds converters here"),
    ],
)
def test_it_says_what_is_missing(held: list[str], status: str, said: str) -> None:
    check = sandbox(held)
    assert check.status == status
    assert said in check.message
    assert (check.remedy is None) == (status == "ok")
