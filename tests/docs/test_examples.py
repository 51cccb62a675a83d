"""The commands that the pages show work, in the order of the pages, and those that their text names exist."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnoctl.arguments.command_line import read
from gnod.errors import UsageError
from tests.docs.examples import PAGES, ROOT, Example, examples, furnish, mentions
from tests.end_to_end.remembered import give_keyring
from tests.machine import Machine, temporary_machine

# Beginnings of commands that are not run here, and why.
NOT_RUN = {
    "pipx ": "installs from a package index",
    "pip install": "the same",
    "CMAKE_ARGS=": "the same, and a compiler",
    "PIP_PREFER_BINARY=": "the same",
    "sudo apt": "changes the machine: scripts/try_debian.sh does these steps in a chroot",
    "dpkg-buildpackage": "the same",
    "systemctl --user": "the same",
    "make": "CI runs these targets, or they are tests",
    "keyring set": "asks for a secret",
    "gnoctl models use": "downloads: tests/end_to_end/test_choosing_models.py",
    "gnoctl models pull": "downloads: tests/end_to_end/test_models_end_to_end.py",
    "gnoctl collection attach": "needs a server: tests/shared",
    "gnoctl collection detach": "the same",
    "gnoctl collection publish": "the same",
    "gnoctl collection unpublish": "the same",
    "gnoctl query -c handbook": "the same",
    "cd deploy/milvus": "the same; tests/deploy checks the file for Docker",
    "(umask 077": "the same",
    "docker ": "the same",
    "gnoctl service": "changes the services of the machine: tests/end_to_end/test_services.py",
    "systemd-socket-activate": "the same",
    "gnoctl stats --prometheus >": "writes to a folder of root",
    "gnoctl web --print": "needs a page that is served: tests/end_to_end/test_web_server.py",
    "gnoctl ui": "needs a terminal: tests/end_to_end/test_terminal_ui.py",
    'vim "$(gnoctl ui': "the same",
}
SERVES_UNTIL_INTERRUPTED = ("gnoctl web", "gnoctl mcp --http")
# These commands end with 1 when they find a problem, or nothing.
STATUS_1 = ("gnoctl ask --verify", "gnoctl audit", "gnoctl doctor", "gnoctl why")
ASK_FIRST = ("gnoctl mv", "gnoctl restore")
_ID = re.compile(r"\bm[a-z0-9]{10}\b")


def is_run(command: str) -> bool:
    return not command.startswith(tuple(NOT_RUN))


class Shell:
    """Runs examples. `ids`: those of memories that a page shows, and those that were really given."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ids: dict[str, str] = {}

    def run(self, example: Example) -> None:
        if example.command.startswith("gnoctl init"):
            self.machine.answer("collection.remove", name="notes")
        command = _ID.sub(lambda shown: self.ids.get(shown[0], shown[0]), example.command)
        done = self._interrupted(command) if self._serves(command) else self._finished(command)
        expected = (0, 1) if command.startswith(STATUS_1) else (0,)
        assert done.returncode in expected, (example, done.returncode, done.stdout, done.stderr)
        if command.startswith("gnoctl init"):
            self.machine.ok("embed")
        self.ids |= dict(zip(_ID.findall(example.output), _ID.findall(done.stdout + done.stderr), strict=False))

    def _serves(self, command: str) -> bool:
        return command.partition("#")[0].strip() in SERVES_UNTIL_INTERRUPTED

    def _finished(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command; one of gnoctl alone as a fork, which costs a fifth."""
        words = [*shlex.split(command, comments=True), *(["--yes"] if command.startswith(ASK_FIRST) else [])]
        if words[0] == "gnoctl" and not re.search(r"[|><&]|\$[('\"]", command):
            return self.machine.run(*(word.replace("~", str(self.machine.folder)) for word in words[1:]))
        return self._shell(command)

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        bash = ["bash", "-o", "pipefail", "-c", command]
        folder, environment = self.machine.folder, self.machine.environment
        return subprocess.run(
            bash, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    def _interrupted(self, command: str) -> subprocess.CompletedProcess[str]:
        process = subprocess.Popen(
            shlex.split(command, comments=True),
            cwd=self.machine.folder,
            env=self.machine.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        status = 0 if first and process.returncode in (0, 130) else process.returncode or 2
        return subprocess.CompletedProcess(command, status, first + rest, errors)


@pytest.fixture(scope="module")
def shell(minilm_onnx: Path, measured_models: Path) -> Iterator[Shell]:
    if not shutil.which("nc"):
        pytest.skip("no nc: install Debian's package `netcat-openbsd`")
    with temporary_machine() as machine:
        give_keyring(machine)
        machine.place(measured_models)
        furnish(machine)
        path = f"{machine.folder}/bin:{machine.environment['PATH']}"
        machine.environment |= {"PATH": path, "VISUAL": "vi", "DISPLAY": ":0"}
        machine.configure(machine.folder / "papers", machine.folder / "sessions", embed=minilm_onnx)
        machine.ok("index")
        machine.ok("embed")
        machine.ok("remember", "The Pro plan costs 20 euros")
        yield Shell(machine)


@pytest.mark.stress
@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))], ids=lambda page: page.stem)
def test_the_commands_of_a_page_work(page: Path, shell: Shell) -> None:
    for example in examples(page):
        if is_run(example.command):
            shell.run(example)


def test_each_exception_is_needed() -> None:
    commands = [example.command for page in PAGES for example in examples(page)]
    assert [start for start in NOT_RUN if not any(each.startswith(start) for each in commands)] == []
    assert sum(map(is_run, commands)) > 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_that_the_text_names_exist(page: Path) -> None:
    shown = {example.command for example in examples(page) if example.command.startswith("gnoctl ")}
    for command in mentions(page) | {each for each in shown if not re.search(r"[|>&]|\$[('\"]", each)}:
        words = shlex.split(command, comments=True)[1:]
        assert words[0] == "help" or _exists(words), (page.name, command)


def _exists(words: list[str]) -> bool:
    """Tell whether there is this command with these options. The text may name it without its arguments."""
    try:
        return bool("--help" in words or read(words))
    except UsageError as error:
        return "is missing; see" in str(error)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_make_targets_of_a_page_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^\$ |`)make ([a-z][a-z-]*)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
