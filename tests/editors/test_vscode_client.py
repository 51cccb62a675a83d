"""The VS Code extension: its own tests, run by Node against a real daemon; and its manifest.

vscode-jsonrpc comes from npm, as package-lock.json pins it, into the cache of the tests (`GNOD_TEST_MODELS`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import filelock
import pytest

from tests.editors.conftest import EDITORS, Desk, strange_socket

pytestmark = pytest.mark.slow

SOURCE = EDITORS / "vscode"


@pytest.fixture(scope="session")
def modules() -> Path:
    """Return a node_modules folder with what the extension needs."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed: apt-get install nodejs npm")
    lock = (SOURCE / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("GNOD_TEST_MODELS", "~/.cache/gnod-tests")).expanduser()
    folder = cache / f"node-{hashlib.sha256(lock).hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder / ".lock"):
        if not (folder / "done").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(SOURCE / name, folder)
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=100,
            )
            if done.returncode:
                pytest.skip(f"npm cannot fetch vscode-jsonrpc: {done.stderr.strip()[-300:]}")
            (folder / "done").touch()
    return folder / "node_modules"


def test_its_own_tests_pass_against_a_real_daemon(desk: Desk, modules: Path) -> None:
    extension = desk.folder / "extension"
    shutil.copytree(SOURCE, extension, ignore=shutil.ignore_patterns("node_modules"))
    (extension / "node_modules").symlink_to(modules)
    done = subprocess.run(
        ["node", "--test", "test/"],
        cwd=extension,
        env=desk.environment | {"GNO_TEST_NOTES": str(desk.notes)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("^# skipped 0$", done.stdout, re.MULTILINE)


def test_it_does_not_connect_to_another_users_socket(desk: Desk, modules: Path) -> None:
    with strange_socket(desk.folder) as (path, listener):
        gnoctl = desk.folder / "other-gnoctl"
        gnoctl.write_text(f'#!/bin/sh\n[ "$1" = socket ] && echo {path} && exit\necho "this is all" >&2\nexit 1\n')
        gnoctl.chmod(0o755)
        program = (
            f"new (require({json.dumps(str(SOURCE / 'src/client.js'))}).Client)"
            f"({{ command: {json.dumps(str(gnoctl))}, index: '' }})"
            ".request('daemon.status', {}).catch((error) => console.log(error.message))"
        )
        done = subprocess.run(
            ["node", "-e", program],
            env=desk.environment | {"NODE_PATH": str(modules)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "this is all\n", done.stderr
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_every_command_of_the_manifest_is_registered() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    registered = set(re.findall(r'registerCommand\("([\w.]+)"', (SOURCE / "src" / "extension.js").read_text()))
    named = {command["command"] for command in manifest["contributes"]["commands"]}
    assert named == registered - {"gno.open"}
    used = set(re.findall(r"command:([\w.]+)", json.dumps(manifest["contributes"]["viewsWelcome"])))
    used |= {entry["command"] for entries in manifest["contributes"]["menus"].values() for entry in entries}
    assert used <= named


def test_the_files_that_the_manifest_names_are_there() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    containers = manifest["contributes"]["viewsContainers"]["activitybar"]
    for name in [manifest["main"], *manifest["files"], *(each["icon"] for each in containers)]:
        assert (SOURCE / name).exists(), name
