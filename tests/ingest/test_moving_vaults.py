"""Test moves in real vaults: afterwards, every link is correct according to a new index."""

from __future__ import annotations

import random
from pathlib import Path, PurePosixPath

import pytest

from gnod.ingest.moving import journal
from tests.ingest.moving import Vault, renamed

VAULTS = Path(__file__).parents[3] / "shared" / "corpora" / "vaults"
MOVES = 3  # one move of each kind

pytestmark = [
    pytest.mark.stress,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VAULTS.is_dir(), reason=f"{VAULTS} is missing"),
]


@pytest.mark.parametrize("name", ["help", "kepano"])
def test_moves_in_a_real_vault(tmp_path: Path, name: str) -> None:
    chance = random.Random(43)
    source = VAULTS / name
    files = {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*") if path.is_file()}
    vault = Vault(tmp_path, files)
    content, before, index = vault.files(), vault.targets(), vault.database_file
    for number in range(MOVES):
        old, new = drawn(chance, sorted(content), number)
        plan = vault.plan(old, new)
        journal.carry_out(vault.journal, "notes", plan)
        vault.index()
        lost = renamed(before, plan.old, plan.new) - vault.targets()
        assert {link: count for link, count in lost.items() if len(link[1]) == 1} == {}
        assert {link.problem for link in plan.left} <= {"it may lead to several files"}
        journal.undo(vault.journal)
        assert vault.files() == content
        vault.database_file = index


def drawn(chance: random.Random, paths: list[str], number: int) -> tuple[str, str]:
    """Return a file or folder, and its new path: in the same folder, in another one, or with a name that is in use."""
    note = PurePosixPath(chance.choice([path for path in paths if path.endswith(".md")]))
    other = PurePosixPath(chance.choice(paths))
    if number % 3 == 0:
        return str(note), str(note.with_name(f"A new name (no. {number}).md"))
    if number % 3 == 1 and note.parent != PurePosixPath():
        return str(note.parent), f"moved {number}/{note.parent.name}"
    return str(note), f"{number}/{other.stem}.md"
