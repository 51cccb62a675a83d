"""After any changes of the files, the index that followed them equals one made from scratch.

A hypothesis state machine changes real files below two watched folders. When the daemon is quiescent, another daemon
indexes the same folders into an empty database, and both indexes are compared in full.
`GNOD_INCREMENTAL_EXAMPLES=500` runs longer.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.end_to_end.index_contents import compare_contents, compare_vectors, is_embedding, scratch
from tests.machine import Machine

EXAMPLES = int(os.environ.get("GNOD_INCREMENTAL_EXAMPLES", "8"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(100 + 30 * EXAMPLES)]

PROFILE = settings(
    stateful_step_count=24,
    phases=[Phase.explicit, Phase.generate],  # shrinking takes an hour, and hides that the failure depends on time
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)

QUERIES = ["zebra", "lion tiger", '"striped zebra"', "camel -lion", "draft", "giraffe OR heading", "ops"]

WORDS = ["zebra", "lion", "tiger", "striped", "camel", "giraffe", "night"]

roots = st.sampled_from(["notes", "other"])
folders = st.sampled_from(["", "d", "d/e", "d/e/f", "draft", "x y", "node_modules"])
names = st.sampled_from(
    ["a.md", "b.md", "B.md", "c.txt", "draft-1.md", "ü é.md", "n.pdf", "bin.dat", ".h.md", "e", "z.zip"]
)
paths = st.tuples(roots, folders, names).map(lambda parts: os.path.join(*parts))  # noqa: PTH118
trees = st.tuples(roots, st.sampled_from(["d", "d/e", "d/e/f", "draft", "x y", "node_modules", "a.md"])).map("/".join)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
texts = st.one_of(
    words.map(lambda some: f"# {some[0].title()}\n\n{' '.join(some)}.\n".encode()),
    words.map(
        lambda some: f"---\ntags: [ops, {some[0]}]\ndate: 2024-05-0{len(some)}\n---\n{' '.join(some)}\n".encode()
    ),
    words.map(lambda some: f"## Heading\n\n{(' '.join(some) + '. ') * 200}\n".encode()),  # of several chunks
    st.sampled_from(["a", "B", "d/b", "../a.md", "/d/a.md", "ghost"]).map(
        lambda name: f"---\naliases: [ghost]\n---\n[[{name}]] [x]({name}) ![[{name}#heading]]\n".encode()
    ),
    st.sampled_from(
        [b"", b"\n", b"\0\1\2\3" * 50, b"%PDF-1.4 and then nothing", b"\xff\xfe\xfa words", b"plain zebra"]
    ),
)
ignored = st.lists(st.sampled_from(["draft*", "d/", "*.txt", "!draft-1.md", "e", "/a.md", "# no"]), max_size=3)


class Files(RuleBasedStateMachine):
    """Each rule changes the disk, and skips changes that are not possible there."""

    machine: ClassVar[Machine]
    compared: ClassVar[int] = 0
    documents: ClassVar[int] = 0

    def at(self, path: str) -> Path:
        return self.machine.folder / path

    @initialize(files=st.dictionaries(paths, texts, min_size=6, max_size=12))
    def begin(self, files: dict[str, bytes]) -> None:
        for root in ("notes", "other"):
            for entry in self.at(root).iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for path, text in files.items():
            self.put(path, text)

    def put(self, path: str, text: bytes) -> None:
        with contextlib.suppress(OSError):
            self.at(path).parent.mkdir(parents=True, exist_ok=True)
            self.at(path).write_bytes(text)

    @rule(path=paths, text=texts)
    def write(self, path: str, text: bytes) -> None:
        self.put(path, text)

    @rule(path=paths, text=texts)
    def append(self, path: str, text: bytes) -> None:
        with contextlib.suppress(OSError), self.at(path).open("ab") as file:
            file.write(text)

    @rule(path=paths, text=texts)
    def save_atomically(self, path: str, text: bytes) -> None:
        with contextlib.suppress(OSError):
            temporary = self.at(path).with_name(".tmp~")
            temporary.write_bytes(text)
            try:
                temporary.replace(self.at(path))
            finally:
                temporary.unlink(missing_ok=True)

    @rule(root=roots, folder=folders, members=st.dictionaries(st.sampled_from(["a.md", "in/b.md", "n.pdf"]), texts))
    def write_zip(self, root: str, folder: str, members: dict[str, bytes]) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        self.put(f"{root}/{folder}/z.zip".replace("//", "/"), buffer.getvalue())

    @rule(path=paths, to=paths)
    def rename(self, path: str, to: str) -> None:
        with contextlib.suppress(OSError):
            self.at(to).parent.mkdir(parents=True, exist_ok=True)
            self.at(path).rename(self.at(to))

    @rule(path=trees, to=trees)
    def move_tree(self, path: str, to: str) -> None:
        with contextlib.suppress(OSError):
            self.at(path).rename(self.at(to))

    @rule(path=trees, text=texts)
    def copy_tree(self, path: str, text: bytes) -> None:
        """Create a whole tree at once. It replaces an existing one."""
        with contextlib.suppress(OSError):
            for name in ("a.md", "n/b.md", "n/m/c.md", "n/m/.gitignore"):
                (self.at(path) / name).parent.mkdir(parents=True, exist_ok=True)
                (self.at(path) / name).write_bytes(b"c*\n" if name.endswith("ignore") and len(text) % 2 else text)

    @rule(path=st.one_of(paths, trees))
    def delete(self, path: str) -> None:
        with contextlib.suppress(OSError):
            shutil.rmtree(self.at(path)) if self.at(path).is_dir() else self.at(path).unlink()

    @rule(root=roots, folder=folders, lines=ignored, name=st.sampled_from([".gitignore", ".gnoignore"]))
    def ignore(self, root: str, folder: str, lines: list[str], name: str) -> None:
        with contextlib.suppress(OSError):
            (self.at(root) / folder / name).write_text("\n".join(lines) + "\n")

    @rule(path=paths, to=paths)
    def link(self, path: str, to: str) -> None:
        with contextlib.suppress(OSError):
            self.at(path).symlink_to(self.at(to))

    @rule(path=trees, to=trees)
    def link_folder(self, path: str, to: str) -> None:
        with contextlib.suppress(OSError):
            self.at(path).symlink_to(self.at(to))

    @rule(path=paths)
    def touch(self, path: str) -> None:
        with contextlib.suppress(OSError):
            os.utime(self.at(path))

    @rule(seconds=st.sampled_from([0.01, 0.05, 0.2, 0.5]))
    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    @rule()
    def be_quiet(self) -> None:
        quiet(self.machine)

    def teardown(self) -> None:
        quiet(self.machine)
        if is_embedding(self.machine):
            self.machine.call("index.embed")
        with scratch(self.machine) as fresh:
            type(self).compared += 1
            type(self).documents += compare_contents(self.machine.database, fresh.database)
            for query in QUERIES:
                assert answer(self.machine, query) == answer(fresh, query), query
            compare_vectors(self.machine.database, fresh.database)


def quiet(machine: Machine, still_s: float = 0.5, timeout_s: float = 30) -> None:
    """Wait until nothing has changed for a while. Does not call `index.status`: that checks the disk, and finds changes
    that the watcher has missed."""
    deadline = time.monotonic() + timeout_s
    before, since = None, time.monotonic()
    while time.monotonic() < since + still_s:
        freshness = machine.call("search.lexical", query="zebra")["freshness"]
        now = (freshness, machine.call("document.list", limit=10_000)["documents"])
        if now != before or freshness["pending"]:
            before, since = now, time.monotonic()
        assert time.monotonic() < deadline, freshness
        time.sleep(0.05)


def answer(machine: Machine, query: str) -> Any:
    found = machine.call("search.lexical", query=query, limit=100)
    keys = ("collection", "path", "docid", "score", "line", "end_line", "snippet", "marks", "tags", "language")
    hits = sorted([hit[key] for key in keys] for hit in found["hits"])
    return found["total"], hits


def run(machine: Machine, examples: int, model: Path | None = None) -> None:
    (machine.folder / "other").mkdir()
    machine.configure(machine.folder / "other", embed=model)
    machine.start()
    Files.machine = machine
    Files.compared = Files.documents = 0
    run_state_machine_as_test(Files, settings=settings(PROFILE, max_examples=examples, derandomize=examples < EXAMPLES))
    assert Files.compared >= examples
    assert Files.documents >= examples, "there were too few documents to compare"


# The short run always checks the same examples.
@pytest.mark.parametrize("examples", [1, pytest.param(EXAMPLES, marks=pytest.mark.stress)])
def test_incremental_equals_from_scratch(machine: Machine, examples: int) -> None:
    run(machine, examples)


@pytest.mark.stress
def test_with_vectors(machine: Machine, minilm_onnx: Path) -> None:
    run(machine, max(EXAMPLES // 4, 4), minilm_onnx)
