"""`--paths` and `--paths0`: each file once, as another program can open it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

METHODS = {"search": "lexical", "vsearch": "vector", "query": "query", "similar": "similar"}
ODD = ["/home/u/two words.md", "/home/u/quo\"te's.md", "/home/u/-n.md", "/home/u/ é\t.md"]


def sources(daemon: FakeDaemon, *given: str) -> None:
    hits = [samples.hit(rank, source=each) for rank, each in enumerate(given, 1)]
    for mode in METHODS.values():
        daemon.answers[f"search.{mode}"] = samples.found(*hits, mode=mode)


@pytest.mark.parametrize("command", METHODS)
def test_each_file_once_in_the_order_of_the_hits(command: str, daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon, *ODD, ODD[0])
    assert gnoctl(command, "x", "--paths") == (0, "".join(f"{each}\n" for each in ODD), "")
    nulls = "".join(f"{each}\0" for each in ODD)
    assert gnoctl(command, "x", "--paths0") == gnoctl(command, "x", "-0") == (0, nulls, "")
    sources(daemon)
    assert gnoctl(command, "x", "--paths") == (1, "", "")


def test_a_line_break_in_a_name_makes_no_second_path(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon, "/home/u/a\n/etc/passwd", "/home/u/b.md")
    assert gnoctl("search", "x", "--paths") == (
        0,
        "/home/u/b.md\n",
        "paths with a line break are left out: 1. Use --paths0\n",
    )
    assert gnoctl("search", "x", "-0").out == "/home/u/a\n/etc/passwd\0/home/u/b.md\0"


def test_a_file_in_an_archive_counts_as_the_archive(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    archive, folder = tmp_path / "old!.zip", tmp_path / "wow!"
    archive.write_bytes(b"PK")
    folder.mkdir()
    sources(daemon, f"{archive}!/a.md", f"{archive}!/b.zip!/c.md", f"{folder}/d.md")
    assert gnoctl("search", "x", "--paths").out.splitlines() == [str(archive), f"{folder}/d.md"]


def test_one_format_at_a_time(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon)
    outcome = gnoctl("search", "x", "--paths", "--json")
    assert outcome.status != 0
    assert "cannot be used together" in outcome.err + outcome.out
