"""With `fresh: true`, the answer always includes everything that was written before the call, without sleeping."""

from __future__ import annotations

import json
import select
import threading
from itertools import count
from pathlib import Path

import pytest

from tests.end_to_end.watched import watch
from tests.machine import Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Writer:
    """Writes to its own folder in several ways in turn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        folder.mkdir(exist_ok=True)
        for name in ("a.md", "b.md", "c.md"):
            (folder / name).write_text("# Zebra\n")

    def write(self, word: str) -> str:
        """Write the word to the disk. Return the path where a search must find it, relative to the folder."""
        number = next(self._numbers)
        text = f"# Note\n\nThe word is {word}.\n"
        match number % 6:
            case 0:
                path = "a.md"
                (self._folder / path).write_text(text)
            case 1:
                path = "b.md"
                (self._folder / "b.tmp").write_text(text)
                (self._folder / "b.tmp").rename(self._folder / path)
            case 2:
                path = "c.md"
                with (self._folder / path).open("a") as file:
                    file.write(text)
            case 3:
                path = f"new{number}/sub/d.md"
                (self._folder / path).parent.mkdir(parents=True)
                (self._folder / path).write_text(text)
            case 4:  # move the folder of the previous case
                path = f"moved{number}/sub/d.md"
                (self._folder / f"new{number - 1}" / "sub" / "d.md").write_text(text)
                (self._folder / f"new{number - 1}").rename(self._folder / f"moved{number}")
            case _:
                path = f"e{number % 10}.md"
                (self._folder / f"moved{number - 1}" / "sub" / "d.md").unlink()
                (self._folder / path).write_text(text)
        return path


def ask(machine: Machine, folder: str, times: int, wrong: list[str]) -> None:
    """Write and search over one connection. Add words that are not found at once to `wrong`."""
    writer = Writer(machine.notes / folder)
    with machine.connect() as client, client.makefile("rb") as answers:
        for number in range(times):
            word = f"{folder}word{number}"
            path = f"{folder}/{writer.write(word)}"
            params = {"query": word, "fresh": True}
            call = {"jsonrpc": "2.0", "id": number, "method": "search.lexical", "params": params}
            client.sendall(json.dumps(call).encode() + b"\n")
            hits = [hit["path"] for hit in json.loads(answers.readline())["result"]["hits"]]
            if hits != [path]:
                wrong.append(f"{word} was written to {path} and found in {hits}")


@pytest.mark.stress
def test_a_write_is_found_by_the_next_search(machine: Machine) -> None:
    machine.ok("init", str(machine.notes))
    watch(machine)
    wrong: list[str] = []
    ask(machine, "one", 1000, wrong)
    assert wrong == []


def test_several_at_once(machine: Machine) -> None:
    machine.ok("init", str(machine.notes))
    watch(machine)
    wrong: list[str] = []
    threads = [threading.Thread(target=ask, args=(machine, f"client{n}", 24, wrong)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_from_the_first_moment_of_the_daemon(machine: Machine) -> None:
    """The walk at the start does not count as a walk that began after the call."""
    machine.write(**{f"n{number}_md": f"# Note {number}\n" for number in range(50)})
    machine.ok("init", str(machine.notes))
    for number in range(3):
        machine.hang_up()
        machine.ok("daemon", "restart")
        machine.write(**{f"n{number}_md": f"# Note\n\nThe word is start{number}.\n"})
        found = machine.call("search.lexical", query=f"start{number}", fresh=True)
        assert [hit["path"] for hit in found["hits"]] == [f"n{number}.md"]


def test_removing_a_collection_fails_only_searches_that_name_it(machine: Machine, minilm_onnx: Path) -> None:
    guest = machine.folder / "guest"
    guest.mkdir()
    machine.configure(embed=minilm_onnx)
    machine.write(zebra_md="# Zebra\n\nIt grazes.\n")
    machine.ok("embed")
    for number in range(600):
        (guest / f"{number}.md").write_text(f"# Guest {number}\n")
    for method in ("search.lexical", "search.vector", "search.query"):
        for _ in range(10):
            machine.call("collection.add", path=str(guest), name="guest")
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"query": "zebra", "fresh": True}}
            with machine.connect() as client, client.makefile("rb") as stream:
                client.sendall(json.dumps(request).encode() + b"\n")
                is_waiting = not select.select([client], [], [], 0.2)[0]  # it waits for the guest's files
                machine.call("collection.remove", name="guest")
                answer = json.loads(stream.readline())
            assert "error" not in answer, (method, answer)
            if is_waiting:
                break
        else:
            raise AssertionError(f"{method} never waited")
