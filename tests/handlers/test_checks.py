"""`index.why` for files that cannot be read, and `gnoctl doctor` on the sandbox of converters."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.config.model import CollectionConfig
from gnod.handlers.checks.doctor import sandbox
from gnod.handlers.checks.why import why
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.protocol.index import WhyCollection
from gnod.store.connection import Connection
from gnod.store.documents import collections
from gnod.store.documents.collections import Folder
from gnod.store.tables import failures
from tests.small_index import SmallIndex


def view(index: SmallIndex, root: Path, path: str) -> WhyCollection:
    configured = {"notes": CollectionConfig(name="notes", path=str(root))}
    (found,) = (
        index.database.submit_read(lambda c: why(c, f"{root}/{path}", configured, IgnoreFiles())).result().collections
    )
    return found


def test_a_folder_without_permission_is_the_reason_for_all_below_it(small_index: SmallIndex, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("x")

    def unreadable(path: str, message: str) -> None:
        def note(c: Connection) -> None:
            said = {"stage": "walk", "kind": "unreadable", "message": message}
            failures.note(c, collections.id_of(c, "notes"), path, stat=None, now=0.0, **said)

        small_index.database.submit_write(note).result()

    small_index.database.submit_write(
        lambda c: collections.mirror(c, [Folder("notes", str(tmp_path), None)], [])
    ).result()
    unreadable("closed", "Permission denied")
    unreadable("secret.md", "There is no permission to read the file.")

    below = view(small_index, tmp_path, "closed/deep/a.md")
    assert (below.verdict, below.error is not None) == ("failed", True)
    assert "the folder closed cannot be read" in below.reason
    itself = view(small_index, tmp_path, "secret.md")
    assert itself.verdict == "failed"
    assert "no permission" in itself.reason
    assert view(small_index, tmp_path, "other.md").verdict == "missing"


def test_a_path_in_another_composition_is_explained(small_index: SmallIndex, tmp_path: Path) -> None:
    (tmp_path / "u\u0308").mkdir()
    (tmp_path / "u\u0308/.e\u0301.md").write_text("x")
    folder = Folder("notes", str(tmp_path), None)
    small_index.database.submit_write(lambda c: collections.mirror(c, [folder], [])).result()
    found = view(small_index, tmp_path, "\xfc/.\xe9.md")
    assert (found.path, found.verdict) == ("u\u0308/.e\u0301.md", "excluded")


@pytest.mark.parametrize(
    ("held", "status", "said"),
    [
        (["Landlock (reading, writing, TCP)", "seccomp (network)"], "ok", "Landlock (reading, writing, TCP); seccomp"),
        (["macOS sandbox (writing, network)"], "ok", "network). A converter may read all of your files"),
        (["seccomp (network, programs)"], "ok", "programs). A converter may read all of your files"),
        ([], "warning", "converters have no sandbox here"),
    ],
)
def test_doctor_says_what_the_sandbox_lacks(held: list[str], status: str, said: str) -> None:
    check = sandbox(held)
    assert check.status == status
    assert said in check.message
    assert (check.remedy is None) == (status == "ok")
