"""Sample memories, and machines with a keyring in a file or without a keyring."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.machine import Machine

FILE_KEYRING = "keyrings.alt.file.PlaintextKeyring"
NO_KEYRING = "keyring.backends.fail.Keyring"

MEMORIES: list[dict[str, Any]] = [
    {"text": "The kitten sleeps on the sofa all day.", "topics": ["animals", "indoors"]},
    {"text": "Push the release to production with a blue-green rollout.", "type": "decision", "topics": ["deploy"]},
    {"text": "Prefers short answers without apologies.", "type": "preference", "topics": ["style"]},
    {"text": "The safety valve of the boiler opens at 12 bar.", "topics": ["boiler", "error handling"]},
    {"text": "The sailing yacht leaves the marina at dawn.", "type": "task_done", "topics": ["boat"]},
    {"text": "Knead flour, water and yeast; bake the loaf for an hour.", "type": "summary", "topics": ["bread"]},
]


def give_keyring(machine: Machine, backend: str = FILE_KEYRING) -> None:
    machine.environment |= {"PYTHON_KEYRING_BACKEND": backend, "XDG_DATA_HOME": str(machine.folder / "keyring")}


def configure(machine: Machine, **models: Path) -> None:
    """Write a config with these models and debug logging."""
    roles = ("embed", "rerank", "expand", "answer")
    written = ", ".join(f'{role}: "file:{models[role]}"' if role in models else f"{role}: none" for role in roles)
    machine.config.parent.mkdir(exist_ok=True)
    machine.config.write_text(f"models: {{{written}}}\ndaemon: {{log_level: debug}}\n")


def piped(machine: Machine, data: bytes, *words: str) -> subprocess.CompletedProcess[str]:
    """Run gnoctl with `data` on standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "gnoctl", *words],
        env=machine.environment,
        cwd=machine.folder,
        input=data,
        capture_output=True,
        timeout=60,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(machine: Machine, method: str, **params: object) -> tuple[str, str]:
    """Return (kind, message) of the daemon's error for a call."""
    with machine.connect() as client, client.makefile("rb") as stream:
        client.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        error = json.loads(stream.readline())["error"]
    return error["data"]["kind"], error["message"]


def store_all(machine: Machine) -> list[str]:
    """Store the sample memories; return their ids in order."""
    return [machine.call("memory.store", **each)["id"] for each in MEMORIES]


def forget_all(machine: Machine) -> None:
    """Unlock the memories and forget them all; their namespaces stay."""
    machine.call("memory.unlock")
    while listed := machine.call("memory.list", limit=100)["memories"]:
        machine.call("memory.forget", ids=[each["id"] for each in listed])


def holding(folders: list[Path], words: list[str]) -> list[tuple[str, str]]:
    """Return (file, word) for each of the words that a file below these folders contains in clear text."""
    found = []
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes().lower()
        for word in words:
            forms = {word.lower().encode(), word.lower().encode("utf-16-le"), word.lower().encode("utf-16-be")}
            found += [(str(path), word) for form in forms if form in data]
    return found
