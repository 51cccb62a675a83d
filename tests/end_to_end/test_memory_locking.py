"""The key of the memories with real processes: with a keyring, without one, with a passphrase, and while locked."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.remembered import NO_KEYRING, configure, give_keyring, piped, refused
from tests.machine import Machine
from tests.systems import needs_linux
from tests.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PASSPHRASE = b"nine masts and a half\n"


def memory_check(machine: Machine) -> dict[str, str]:
    checks = json.loads(machine.run("doctor", "--json").stdout)["checks"]
    found: dict[str, str] = next(check for check in checks if check["name"] == "memories")
    return found


def test_locked_by_hand_until_it_is_unlocked(machine: Machine) -> None:
    give_keyring(machine)
    configure(machine)
    assert machine.json("memory", "status")["key"] is None
    assert "none yet; the system's keyring will keep their key" in memory_check(machine)["message"]
    assert not (machine.folder / "data" / "memory-default.sqlite").exists()  # reading the status creates no file
    name = machine.ok("remember", "The anchor light is broken", "--topic", "anchor").strip()
    assert "gnoctl memory unlock" in machine.ok("memory", "lock")
    done = machine.run("recall", "x")
    assert (done.returncode, "`gnoctl memory unlock`" in done.stderr) == (2, True)
    for verb, params in (
        *(("store", {"text": "x"}), ("retrieve", {"ids": [name]}), ("list", {}), ("forget", {"ids": [name]})),
        *(("update", {"id": name, "text": "x"}), ("publish", {"ids": [name], "namespace": "x"})),
        ("import", {"records": [{"text": "x"}]}),
    ):
        assert refused(machine, f"memory.{verb}", **params)[0] == "memory_locked", verb
    assert refused(machine, "memory.search", query="anchor")[0] == "memory_locked"
    assert machine.ok("memory", "status").startswith("locked: run `gnoctl memory unlock`")
    assert machine.ok("memory", "unlock").startswith("unlocked; the key is in the system keyring\n1 memory;")
    assert machine.ok("memory", "unlock").startswith("unlocked")  # repeating the command is not an error
    assert machine.json("recall", "anchor")["results"][0]["id"] == name


@pytest.mark.stress
def test_a_key_file_opens_them_without_a_keyring_or_a_passphrase(machine: Machine) -> None:
    give_keyring(machine, NO_KEYRING)
    configure(machine)
    file = machine.folder / "data" / "memory-default.key"
    assert "passphrase" in machine.run("remember", "The anchor light is broken").stderr
    assert not file.exists(), "never unless it is requested"
    assert machine.ok("memory", "unlock", "--key-file").startswith("unlocked; the key is in a file\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    machine.ok("remember", "The anchor light is broken")
    machine.ok("daemon", "restart")
    assert machine.ok("memory", "status").startswith(
        "locked until the first use, which unlocks them; the key is in a file"
    )
    assert machine.json("recall", "anchor light")["results"]
    assert memory_check(machine)["message"] == f"whoever can read {file} can read them"
    machine.ok("memory", "lock")
    assert "locked" in machine.run("recall", "anchor light").stderr
    machine.ok("memory", "unlock")

    file.chmod(0o644)
    machine.ok("daemon", "restart")
    assert "run `chmod 600" in machine.run("recall", "anchor light").stderr
    assert (memory_check(machine)["status"], machine.call("memory.status")["unlocked"]) == ("error", False)
    file.chmod(0o600)
    copy = file.read_bytes()
    assert piped(machine, PASSPHRASE, "memory", "passphrase").stdout.endswith("the key is protected by a passphrase\n")
    assert not file.exists()
    assert "the memories have a key" in machine.run("memory", "unlock", "--key-file").stderr
    assert "choose one" in machine.run("memory", "passphrase", "--keyring", "--key-file").stderr
    file.write_bytes(copy[::-1])
    file.chmod(0o600)
    refused = piped(machine, PASSPHRASE, "memory", "passphrase", "--key-file")
    assert "has another key, perhaps that of older memories: move it away" in refused.stderr
    file.unlink()
    assert "the key is in a file" in piped(machine, PASSPHRASE, "memory", "passphrase", "--key-file").stdout
    assert file.read_bytes() == copy, "the key stays the same"
    give_keyring(machine)
    machine.ok("daemon", "restart")
    assert machine.ok("memory", "passphrase", "--keyring").startswith("locked until the first use")
    assert machine.json("recall", "anchor light")["results"]
    assert not file.exists()


@needs_linux("reads /proc")
@pytest.mark.stress
def test_the_memory_of_the_daemon_has_no_text_after_lock(machine: Machine) -> None:
    """Freed memory has no text either. Thread-local memory may still have one word, so one is not a failure."""
    give_keyring(machine)
    configure(machine)
    machine.ok("daemon", "start")
    words = [f"zirconflange{n}q" for n in range(10)]
    for word in words:
        machine.call("memory.store", text=f"The {word} is in a drawer, beside the other {word}")
    machine.call("memory.search", query="which drawer")
    machine.call("memory.list", whole=True)
    assert in_memory(machine.pid(), words) == set(words)
    machine.ok("memory", "lock")
    assert len(in_memory(machine.pid(), words)) <= 1


def in_memory(pid: int, words: list[str]) -> set[str]:
    """Return the words that a process has anywhere in its memory."""
    found: set[str] = set()
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            start, end = (int(part, 16) for part in place.split("-"))
            if rights.startswith("rw"):
                with suppress(OSError):
                    memory.seek(start)
                    data = memory.read(end - start)
                    found |= {word for word in words if word.encode() in data}
    return found


def test_a_key_missing_from_the_keyring_is_reported(machine: Machine) -> None:
    give_keyring(machine)
    configure(machine)
    machine.ok("remember", "The anchor light is broken")
    machine.ok("daemon", "stop")
    shutil.rmtree(machine.folder / "keyring")
    done = machine.run("recall", "anchor")
    assert (done.returncode, "the system's keyring has no key" in done.stderr) == (2, True)
    machine.ok("daemon", "stop")
    give_keyring(machine, NO_KEYRING)
    assert machine.run("recall", "anchor").returncode == 2
    check = memory_check(machine)
    assert (check["status"], "no keyring is running on this machine" in check["message"]) == ("warning", True)


@pytest.mark.stress
def test_a_passphrase_where_there_is_no_keyring(machine: Machine) -> None:
    give_keyring(machine, NO_KEYRING)
    configure(machine)
    done = machine.run("remember", "The anchor light is broken")
    assert (done.returncode, "no keyring is running on this machine. Run `gnoctl memory unlock`" in done.stderr) == (
        2,
        True,
    )
    assert memory_check(machine)["remedy"] == "gnoctl memory unlock"
    for data, words in ((b"", "no passphrase was given"), (b"short\n", "8 characters or more")):
        done = piped(machine, data, "memory", "unlock")
        assert (done.returncode, words in done.stderr) == (2, True)
    done = piped(machine, PASSPHRASE, "memory", "unlock")
    assert done.stdout.startswith("unlocked; the key is protected by a passphrase")
    name = machine.ok("remember", "The anchor light is broken", "--topic", "anchor").strip()
    machine.ok("daemon", "restart")
    locked = machine.run("recall", "anchor")
    assert (locked.returncode, "`gnoctl memory unlock`" in locked.stderr) == (2, True)
    assert memory_check(machine)["message"] == "locked by a passphrase"
    wrong = piped(machine, b"another passphrase\n", "memory", "unlock")
    assert (wrong.returncode, wrong.stderr) == (2, "gnoctl: this is not the passphrase of these memories\n")
    assert machine.json("memory", "status")["unlocked"] is False
    assert "protected by a passphrase" in piped(machine, PASSPHRASE, "memory", "unlock").stdout
    assert machine.json("recall", "anchor")["results"][0]["id"] == name
    files = [path for path in (machine.folder / "data").rglob("*") if path.is_file()]
    assert not [path for path in files if b"nine masts" in path.read_bytes()]


@pytest.mark.skipif(not shutil.which("setsid"), reason="needs util-linux")
def test_on_a_terminal_it_is_asked_twice_and_never_shown(machine: Machine) -> None:
    give_keyring(machine, NO_KEYRING)
    configure(machine)
    machine.ok("daemon", "start")
    differing = on_terminal(machine, ["memory", "unlock"], ["nine masts", "nine pasts"])
    assert differing[0] == 2
    assert "passphrases differ" in differing[1]
    status, shown = on_terminal(machine, ["memory", "unlock"], ["nine masts", "nine masts"])
    assert (status, shown.count("nine masts")) == (0, 0)
    assert "New passphrase" in shown
    name = machine.ok("remember", "The dinghy leaks \x1b[31m badly").strip()
    status, shown = on_terminal(machine, ["memory", "forget", name], ["n"])
    assert (status, "Nothing was deleted" in shown, "The dinghy leaks ␛[31m badly" in shown) == (1, True, True)
    status, shown = on_terminal(machine, ["memory", "forget", name], ["y"])
    assert (status, "deleted 1 memory" in shown) == (0, True)


def on_terminal(machine: Machine, words: list[str], typed: list[str]) -> tuple[int, str]:
    """Run gnoctl on its own terminal, and type each line when it asks. Return the status and the output."""
    # `setsid --ctty`: gnoctl reads a passphrase from the terminal of the session.
    command = ["setsid", "--ctty", "--wait", sys.executable, "-m", "gnoctl", *words]
    with Terminal(command, machine.environment, machine.folder) as terminal:
        for line in typed:
            terminal.read_until(lambda shown: shown.endswith((": ", "[y/N] ")))
            terminal.type_line(line)
        return terminal.finish(), terminal.shown
