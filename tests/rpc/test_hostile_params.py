"""For bad values in every parameter of every method, the daemon answers or reports an error of the caller, never an
internal error. It reads nothing outside the collections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gnod.errors import InternalError
from gnod.protocol.methods import METHODS
from tests.rpc.overload import SECRET, OverloadedMachine, line, overloaded_machine, read_messages, send
from tests.stress.mutation import NASTY_NUMBERS, NASTY_TEXTS

pytestmark = pytest.mark.slow

# These would stop the daemon, change the config, write outside the folder, use the network or take seconds.
LEFT_OUT = """
    daemon.shutdown collection.add context.add models.use models.pull models.clear doctor.run index.cleanup ask.answer
    daemon.restart index.sync memory.unlock memory.move_key
"""
NEEDED: dict[str, object] = {
    "query": "deploy",
    "question": "how to deploy",
    "ref": "notes/deploy.md",
    "refs": ["notes/deploy.md"],
    "path": "notes/deploy.md",
    "target": "mast.png",
    "old": "notes/deploy.md",
    "new": "notes/gone/deploy.md",
    "name": "none",
    "new_name": "other",
    "address": "milvus://127.0.0.1:1/team/none",
    "scope": "none:",
    "subscription": 1,
    "text": "note this",
    "id": "m0000000000",
    "ids": ["m0000000000"],
    "namespace": "team",
    "records": [{"text": "note this"}],
}
VALUES: list[object] = [
    *NASTY_NUMBERS,
    *(text for text in NASTY_TEXTS if text != "\ud800"),
    *([text] for text in NASTY_TEXTS[:20] if text != "\ud800"),
    *(None, True, 1.5, {}, [], [[]], [None], {"a": 1}, ["a"] * 5000, "99999y", "9999-12-31", "0001-01-01T00:00+23:00"),
]


@pytest.fixture(scope="module")
def daemon() -> Iterator[OverloadedMachine]:
    with overloaded_machine() as daemon:
        yield daemon


def ask(daemon: OverloadedMachine, requests: list[bytes]) -> list[Any]:
    """Return the answers to the requests, which are sent in groups."""
    answers = []
    with daemon.connect() as client:
        for start in range(0, len(requests), 50):
            chunk = requests[start : start + 50]
            send(client, b"".join(chunk))
            answers += read_messages(client, len(chunk))
    return answers


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.stress)])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in LEFT_OUT.split()])
def test_wrong_values_everywhere(daemon: OverloadedMachine, name: str, every: int) -> None:
    """In `make test`, each parameter gets a third of the values."""
    fields = msgspec.structs.fields(METHODS[name].params)
    needed = {field.encode_name: NEEDED[field.encode_name] for field in fields if field.required}
    if name == "document.move":
        needed["dry_run"] = True  # the other tests search for this file
    asked: dict[int, object] = {}
    requests: list[bytes] = []
    for number, field in enumerate(fields):
        # Every token is valid, so each value would sync the index or overwrite a memory.
        is_costly = name.startswith("index.") or name in ("memory.lock", "models.recommend")
        if field.encode_name == "fresh" or (is_costly and field.encode_name == "progress_token"):
            continue
        for value in VALUES[number % every :: every]:
            asked[len(requests)] = (field.encode_name, value)
            requests.append(line(name, len(requests), **{**needed, field.encode_name: value}))
    for answer in ask(daemon, requests):
        if "error" in answer:
            where = name, asked[answer["id"]], answer["error"]
            assert answer["error"]["code"] != InternalError.code, where
            assert len(answer["error"]["message"]) < 20_000, where
    daemon.check_serves()


IDS = [*("1e400", "1" + "0" * 400, "-1e-400", "1.5", "-0.0", "18446744073709551616", "-9223372036854775809")]
IDS += ["true", "{}", "[]", '"\\u0000"', '"' + "x" * 100_000 + '"', '"\\ud800"', "NaN", "Infinity", "01", "null"]


@pytest.mark.parametrize("written", IDS, ids=lambda written: written[:12])
def test_odd_ids(daemon: OverloadedMachine, written: str) -> None:
    for method in ("daemon.status", "no.such", "search.lexical"):
        request = f'{{"jsonrpc":"2.0","method":"{method}","id":{written}}}\n'.encode()
        (answer,) = daemon.answers(request)
        assert "result" in answer or answer["error"]["code"] in (-32700, -32600, -32601, -32602)
        if answer["id"] is not None:
            assert answer["id"] == json.loads(written)


def test_of_duplicate_keys_the_last_counts(daemon: OverloadedMachine) -> None:
    query = b'{"jsonrpc":"2.0","id":1,"method":"search.lexical","params":{"query":"a","query":"deploy"}}'
    twice = b'{"jsonrpc":"1.0","jsonrpc":"2.0","id":2,"id":1,"method":"x","method":"daemon.status"}'
    for data in (query, twice):
        (answer,) = daemon.answers(data)
        assert answer["id"] == 1
        assert answer["result"]


def test_nothing_outside_of_the_collections_is_read(daemon: OverloadedMachine) -> None:
    outside = daemon.folder / "secret.md"
    refs = [
        *(f"{scheme}notes/{up}/secret.md" for scheme in ("", "gno://") for up in ("..", "%2e%2e")),
        *(str(outside), f"gno://notes//{outside}", f"file://{outside}", f"{daemon.notes}/../secret.md"),
        *("/etc/passwd", "../secret.md", "x" * 8192, "/" + "x/" * 4000),
    ]
    requests = [line("document.get", number, ref=ref) for number, ref in enumerate(refs)]
    requests.append(line("document.multi_get", 98, refs=[*refs, "../*", "**/secret.md", "/etc/*"]))
    requests += [line("index.why", 100 + number, path=ref) for number, ref in enumerate(refs)]
    answers = ask(daemon, requests)
    assert all("error" in answer for answer in answers if answer["id"] < 98)
    assert SECRET not in json.dumps(answers)
    assert "root:x" not in json.dumps(answers)


def test_a_thousand_references_that_lead_nowhere(daemon: OverloadedMachine) -> None:
    (answer,) = daemon.answers(line("document.multi_get", 1, refs=[f"notes/deploi-{n}.md" for n in range(1000)]))
    assert len(answer["result"]["skipped"]) == 1000


@pytest.mark.stress
def test_more_text_than_an_answer_holds(daemon: OverloadedMachine) -> None:
    """The answer to a request for twenty texts of a megabyte has the texts that fit, and names the others."""
    for number in range(20):
        (daemon.notes / f"long-{number}.md").write_text(f"# Number {number}\n\n" + ("x" * 999 + "\n") * 1000)
    daemon.call("index.sync")
    (answer,) = daemon.answers(line("document.multi_get", 1, refs=["notes/long-*.md"], max_bytes=2_000_000))
    result = answer["result"]
    assert len(result["documents"]) + len(result["skipped"]) == 20
    assert result["documents"]
    assert "over the size of one reply" in result["skipped"][0]["reason"]
    (answer,) = daemon.answers(line("search.lexical", 1, query="number", full=True, limit=100))
    assert "lower the limit" in answer["error"]["message"]
