"""Fixtures of the end-to-end tests: empty machines, and one with a daemon that many tests share."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.remembered import configure, forget_all, give_keyring
from tests.machine import Machine, temporary_machine

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
OTHER_SCRIPTS = {
    "faehre.md": "# Fähre\n\nDie Fähre legt um 9:15 Uhr ab.\n\nIm Winter fährt sie nicht.\n",
    "ferry.ja.md": "# フェリー\n\nフェリーは九時に港を出発します。\n",
    "nauka.md": "# नौका\n\nनौका सुबह नौ बजे चलती है।\n",
    "copy.md": "# Fähre\n\nDie Fähre legt um 9:15 Uhr ab.\n",
}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the daemon's log when a test with a daemon fails."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if not report.failed:
        return
    machines = {id(each): each for each in getattr(item, "funcargs", {}).values() if isinstance(each, Machine)}
    for machine in machines.values():
        with contextlib.suppress(OSError):
            report.sections.append(("the daemon's log", machine.log(80)))


@pytest.fixture
def machine(short_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    with Machine(short_tmp) as machine:
        if "minilm_onnx" in request.fixturenames:
            machine.place(request.getfixturevalue("measured_models"))
        yield machine


@pytest.fixture(scope="module")
def reused() -> Iterator[Machine]:
    """See `emptied`."""
    with temporary_machine() as machine:
        yield machine


@pytest.fixture
def emptied(reused: Machine) -> Machine:
    """A machine without collections and files. The daemon of the previous test may still be running on it."""
    reused.empty()
    return reused


@pytest.fixture(scope="module")
def busy() -> Iterator[Machine]:
    """One machine with a few notes and a running daemon, for tests that change nothing."""
    with temporary_machine() as machine:
        machine.write(
            deploy_md="---\ntags: [ops]\n---\n# Deployment\n\nTo deploy to the production, run node.js v1.2.3.\n",
            d__cpp_md="# Languages\n\nC++ and C# and snake_case.\n",
            umlaut_md="# Städte\n\nMünchen hat viele Häuser.\n",
        )
        (machine.notes / "empty.md").write_text("")
        (machine.notes / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
        machine.ok("init", str(machine.notes), "--name", "notes")
        yield machine


@pytest.fixture(scope="module")
def sample(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    """A machine with the sample folder and notes in other scripts, embedded, and without a model for answers."""
    with temporary_machine() as machine:
        machine.place(measured_models)
        shutil.copytree(SAMPLES, machine.notes, dirs_exist_ok=True)
        for name, text in OTHER_SCRIPTS.items():
            (machine.notes / name).write_text(text)
        machine.configure(embed=minilm_onnx)
        machine.ok("index")
        machine.ok("embed")
        yield machine


@pytest.fixture(scope="module")
def remembering() -> Iterator[Machine]:
    with temporary_machine() as machine:
        give_keyring(machine)
        configure(machine)
        machine.ok("daemon", "start")
        yield machine


@pytest.fixture
def keeper(remembering: Machine) -> Iterator[Machine]:
    """A machine with a keyring, but without models and memories. Its daemon serves all tests."""
    yield remembering
    forget_all(remembering)
