"""The Debian package is of this version. `scripts/try_debian.sh` builds and tries it."""

from __future__ import annotations

from pathlib import Path

from gnod import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_its_changelog_begins_with_this_version() -> None:
    first = (ROOT / "debian/changelog").read_text().splitlines()[0]
    assert first.startswith(f"gnod ({__version__}) ")
