"""Memories with real processes: store, search, crashes, lists, publishing, export and import."""

from __future__ import annotations

import json
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.remembered import (
    configure,
    give_keyring,
    holding,
    piped,
    refused,
    store_all,
)
from tests.machine import Machine, wait_until
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def elsewhere(short_tmp: Path) -> Iterator[Machine]:
    """Another index."""
    (short_tmp / "2").mkdir()
    with Machine(short_tmp / "2") as machine:
        give_keyring(machine)
        configure(machine)
        yield machine


def test_store_update_and_forget(keeper: Machine) -> None:
    name = keeper.ok("remember", "The", "gate", "is", "blue", "--topic", "gate", "-t", "Decision").strip()
    again = keeper.run("remember", "The gate is blue", "--topic", "colour", "-t", "fact")
    assert again.stdout.strip() == name
    assert "already has this text" in again.stderr
    assert keeper.json("memory", "list", "--topic", "colour", "--topic", "gate")["memories"][0]["type"] == "fact"
    assert keeper.ok("memory", "update", name, "The gate is green").splitlines()[1] == "The gate is green"
    assert keeper.json("memory", "update", name, "--topic", "")["topics"] == []
    assert keeper.ok("memory", "done", name) == f"{name}  fact_done\n"
    assert keeper.ok("memory", "done", name) == f"{name}  fact_done\n"
    other = keeper.ok("remember", "The gate is blue").strip()
    assert "already has this text" in keeper.run("memory", "update", other, "The gate is green").stderr
    assert keeper.run("memory", "forget", name).stderr == "gnoctl: this command needs a confirmation: add --yes\n"
    assert keeper.ok("memory", "forget", "--yes", name) == "deleted 1 memory\n"
    missing = keeper.run("memory", "show", other, name)
    assert (missing.returncode, missing.stderr) == (2, f"gnoctl: there is no memory {name}\n")


def test_lists_go_page_by_page(keeper: Machine) -> None:
    names = store_all(keeper)
    assert [each["id"] for each in keeper.call("memory.list")["memories"]] == names[::-1]
    assert [each["id"] for each in keeper.call("memory.list", types=["fact"])["memories"]] == [names[3], names[0]]
    assert keeper.call("memory.list", topics=["handling"])["memories"][0]["id"] == names[3]
    first = keeper.call("memory.list", limit=4)
    assert first["total"] == 6
    keeper.call("memory.forget", ids=[names[2]])  # the last of that page
    rest = keeper.call("memory.list", limit=4, cursor=first["cursor"])
    assert [each["id"] for each in rest["memories"]] == [names[1], names[0]]
    assert rest["cursor"] is None
    for _ in range(12):
        keeper.call("memory.store", text=f"{_} " + "x" * 60_000)
    page = keeper.call("memory.list", whole=True)
    assert len(page["memories"]) < page["total"]
    assert page["cursor"]
    seen = len(page["memories"]) + len(keeper.call("memory.list", whole=True, cursor=page["cursor"])["memories"])
    assert seen == page["total"] == 17


def test_namespaces_are_shared_by_publishing(keeper: Machine) -> None:
    name = keeper.ok("remember", "The mast is oiled in spring", "--topic", "mast").strip()
    other = keeper.ok("remember", "The mast is nine metres long", "--topic", "mast", "--namespace", "Crew").strip()
    assert keeper.ok("memory", "publish", name, "--to", "crew") == "published 1 memory to crew\n"
    assert keeper.ok("memory", "publish", name, "--to", "crew").endswith("; 1 existed there already\n")
    everywhere = keeper.json("recall", "mast")["results"]
    assert len(everywhere) == 2  # the copy represents its original
    assert [each.get("namespace") for each in everywhere if each["id"] == other] == ["crew"]
    assert len(keeper.json("recall", "mast", "--namespace", "crew")["results"]) == 2
    assert [each["id"] for each in keeper.json("recall", "mast", "--namespace", "personal")["results"]] == [name]
    nowhere = keeper.run("recall", "mast", "--namespace", "nobody")
    assert (nowhere.returncode, nowhere.stderr) == (
        2,
        "gnoctl: there is no namespace 'nobody'; there are: personal, crew\n",
    )
    assert keeper.json("memory", "status")["namespaces"] == ["personal", "crew"]


def test_remember_reads_standard_input(keeper: Machine) -> None:
    name = piped(keeper, "  The Österreich flag\nis on board.\n".encode(), "remember", "-t", "result").stdout.strip()
    assert keeper.json("memory", "show", name)["memories"][0]["text"] == "The Österreich flag\nis on board."
    dash = piped(keeper, b"Another line", "remember", "-")
    assert dash.returncode == 0
    for data, words in ((b"", "nothing to remember"), (b" \n", "nothing to remember"), (b"\xff", "not valid UTF-8")):
        done = piped(keeper, data, "remember")
        assert (done.returncode, words in done.stderr) == (2, True)
    piped(keeper, b"The flag is below deck", "memory", "update", name, "-")
    assert keeper.json("memory", "show", name)["memories"][0]["text"] == "The flag is below deck"


def test_an_export_makes_the_same_memories_elsewhere(keeper: Machine, elsewhere: Machine) -> None:
    store_all(keeper)
    keeper.call("memory.publish", ids=[keeper.call("memory.list")["memories"][0]["id"]], namespace="crew")
    target = keeper.folder / "memories.jsonl"
    target.write_text("what was there before")
    done = keeper.run("memory", "export", "memories.jsonl")
    assert "contains 7 memories, unencrypted" in done.stderr
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert keeper.ok("memory", "export") == target.read_text()
    exported = [json.loads(line) for line in target.read_text().splitlines()]
    assert elsewhere.ok("memory", "import", str(target)) == "imported 7 memories\n"
    again = piped(elsewhere, target.read_bytes(), "memory", "import", "-")
    assert again.stdout == "imported 0 memories; 7 already existed\n"
    imported = [json.loads(line) for line in elsewhere.ok("memory", "export").splitlines()]
    fields = [name for name in exported[0] if name != "id"]
    assert sorted([each[name] for name in fields] for each in imported) == sorted(
        [each[name] for name in fields] for each in exported
    )
    faulty = piped(keeper, b'\n{"text": "x"}\n{"text": 7}\n', "memory", "import", "-")
    assert (faulty.returncode, "line 3 of - is not a memory" in faulty.stderr) == (2, True)
    kind, message = refused(keeper, "memory.import", records=[{"text": "x", "created": "yesterday"}])
    assert (kind, "records[0].created" in message) == ("invalid_params", True)


@pytest.mark.parametrize(
    ("method", "params", "kind", "words"),
    [
        ("store", {"text": ""}, "limit_exceeded", "the text is empty"),
        ("store", {"text": " \n "}, "limit_exceeded", "the text is empty"),
        ("store", {"text": "x" * 65_537}, "invalid_params", "65536"),
        ("store", {"text": "x", "type": "No Type"}, "invalid_name", "fact, preference"),
        ("store", {"text": "x", "type": ""}, "invalid_name", "is not a valid type of memory"),
        ("store", {"text": "x", "topics": ["y" * 65]}, "limit_exceeded", "at most 64"),
        ("store", {"text": "x", "topics": [str(n) for n in range(33)]}, "limit_exceeded", "at most 32 topics"),
        ("store", {"text": "x", "namespace": "n" * 65}, "invalid_name", "at most 64"),
        ("store", {"text": "a\0b"}, "invalid_params", "NUL"),
        ("store", {"txt": "x"}, "invalid_params", "did you mean 'text'"),
        ("search", {"query": ""}, "invalid_params", "'query'"),
        ("search", {"query": "x", "limit": 33}, "invalid_params", "'limit'"),
        ("deep_search", {"query": "boat"}, "query_syntax", "2 keywords or more"),
        ("deep_search", {"query": "boat boats", "limit": 101}, "invalid_params", "'limit'"),
        ("retrieve", {"ids": []}, "invalid_params", "'ids'"),
        ("retrieve", {"ids": ["mxxxxxxxxxx"]}, "memory_not_found", "mxxxxxxxxxx"),
        ("retrieve", {"ids": ["m"] * 101}, "invalid_params", "'ids'"),
        ("forget", {"ids": ["mxxxxxxxxxx"]}, "memory_not_found", "mxxxxxxxxxx"),
        ("update", {"id": "mxxxxxxxxxx"}, "invalid_params", "nothing to change"),
        ("update", {"id": "mxxxxxxxxxx", "type": "fact"}, "memory_not_found", "mxxxxxxxxxx"),
        ("publish", {"ids": ["mxxxxxxxxxx"], "namespace": "team"}, "memory_not_found", "mxxxxxxxxxx"),
        ("list", {"cursor": "nowhere"}, "invalid_params", "'cursor'"),
        ("list", {"since": "soon"}, "invalid_params", "'since': 'soon' is not a time"),
        (
            "search",
            {"query": "x", "as_of": "Feb 2026"},
            "invalid_params",
            "'as_of': 'Feb 2026' is not a time: use a year",
        ),
        ("search", {"query": "x", "as_of": "2026-02-30"}, "invalid_params", "'as_of'"),
        ("search", {"query": "x", "as_of": "99999999d"}, "invalid_params", "'as_of'"),
        ("store", {"text": "x", "valid_from": "0000-01"}, "invalid_params", "'valid_from'"),
        ("store", {"text": "x", "when": "9999-12-31T23:59:59-12:00"}, "invalid_params", "'when'"),
        ("store", {"text": "x", "valid_from": "0001-01-01T00:00:00+12:00"}, "invalid_params", "'valid_from'"),
        ("store", {"text": "x", "valid_until": "20260-01-01"}, "invalid_params", "'valid_until'"),
        ("store", {"text": "x", "valid_from": "2026", "valid_until": "2025"}, "invalid_params", "end before it begins"),
        ("import", {"records": [{"text": "x", "valid_from": "then"}]}, "invalid_params", "'records[0].valid_from'"),
        ("list", {"types": ["?"]}, "invalid_name", "is not a valid type of memory"),
        ("import", {"records": []}, "invalid_params", "'records'"),
        ("import", {"records": [{"text": "x"}] * 101}, "invalid_params", "'records'"),
        ("unlock", {"passphrase": "long enough"}, "wrong_passphrase", "in the system's keyring"),
    ],
)
def test_invalid_parameters_are_refused(
    keeper: Machine, method: str, params: dict[str, Any], kind: str, words: str
) -> None:
    said = refused(keeper, f"memory.{method}", **params)
    assert (said[0], words in said[1]) == (kind, True), said


def test_cancelled_requests_leave_complete_memories(keeper: Machine) -> None:
    with keeper.connect() as client, client.makefile("rb") as stream:
        for number in range(40):
            params = {"text": f"Wave number {number}", "topics": ["wave"]}
            for message in (
                {"jsonrpc": "2.0", "id": number, "method": "memory.store", "params": params},
                {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}},
            ):
                client.sendall(json.dumps(message).encode() + b"\n")
        answers = [json.loads(stream.readline()) for _ in range(40)]
    cancelled = [each for each in answers if "error" in each]
    assert cancelled
    assert {each["error"]["code"] for each in cancelled} == {-32800}
    wait_until(lambda: keeper.call("memory.list")["total"] >= 40 - len(cancelled))
    keeper.call("memory.store", text="Wave number 0", topics=["wave"])
    before = keeper.call("memory.list", limit=100)
    keeper.hang_up()
    keeper.ok("daemon", "restart")
    assert keeper.call("memory.list", limit=100) == before


def test_nothing_is_anywhere_in_clear(machine: Machine, minilm_onnx: Path) -> None:
    give_keyring(machine)
    configure(machine, embed=minilm_onnx, rerank=CrossEncoder(SEED).write(machine.folder / "tiny.gguf"))
    secrets = ["quartermaster", "bosunwhistle", "capstanlocker", "kedgeanchor", "halyardrope", "gunwalerail"]
    machine.ok("remember", "The quartermaster hides the key", "--topic", "bosunwhistle", "--namespace", "capstanlocker")
    for number in range(8):
        machine.call(
            "memory.store", text=f"kedgeanchor {number} of the quartermaster", topics=[f"bosunwhistle {number}"]
        )
    name = machine.call("memory.search", query="quartermaster gunwalerail", budget_s=30)["results"][0]["id"]
    machine.call("memory.deep_search", query="halyardrope gunwalerail bosunwhistle", budget_s=30)
    machine.call("memory.update", id=name, text="now halyardrope instead of kedgeanchor", topics=["halyardrope"])
    machine.ok("memory", "publish", name, "--to", "gunwalerail")
    machine.call("memory.import", records=[{"text": "imported halyardrope", "namespace": "gunwalerail"}])
    machine.ok("memory", "export")
    refused(machine, "memory.store", text="quartermaster", type="gunwalerail halyardrope")
    refused(machine, "memory.search", query="quartermaster", namespaces=["halyardrope"])
    refused(machine, "memory.deep_search", query="quartermaster")
    machine.ok("memory", "forget", "--yes", name)
    folders = [machine.folder / name for name in ("data", "cache", "config")]
    assert (machine.folder / "data" / "memory-default.sqlite").exists()
    assert holding(folders, secrets) == []
    machine.ok("memory", "lock")
    assert holding(folders, secrets) == []
    if sys.platform == "linux":
        assert resource.prlimit(machine.pid(), resource.RLIMIT_CORE) == (0, 0)
    machine.hang_up()
    machine.ok("daemon", "stop")
    assert holding(folders, secrets) == []
    log = "".join(path.read_text() for path in (machine.folder / "data").rglob("*.log"))
    assert "memory.deep_search" in log  # the log had the most detailed level


def test_a_new_value_is_proposed_superseded_exported_and_imported(keeper: Machine, elsewhere: Machine) -> None:
    old = keeper.call("memory.store", text="The mooring costs 20 euros", when="2024-05-03")["id"]
    stored = keeper.call("memory.store", text="The mooring costs 25 euros now")
    (proposal,) = stored["proposals"]
    assert (proposal["id"], proposal["time"]) == (old, "2024-05-03T00:00:00.000Z")
    assert "25 instead of 20" in proposal["reason"]
    assert keeper.call("memory.retrieve", ids=[old])["memories"][0]["type"] == "fact"
    keeper.ok("memory", "update", stored["id"], "--supersedes", old)
    found = keeper.call("memory.search", query="The mooring costs 20 euros")["results"]
    assert [(hit["id"], hit.get("superseded_by")) for hit in found] == [(stored["id"], None), (old, stored["id"])]
    assert found[0]["rerank"] >= found[1]["rerank"]
    assert f"superseded by {stored['id']}" in keeper.ok("memory", "history", stored["id"])
    export = keeper.folder / "export.jsonl"
    keeper.ok("memory", "export", str(export))
    for expected in ("imported 2 memories", "imported 0 memories; 2 already existed"):
        assert expected in elsewhere.ok("memory", "import", str(export))
        new, before = elsewhere.call("memory.list", whole=True)["memories"]
        assert (before["superseded_by"], new["supersedes"]) == (new["id"], [before["id"]])
        assert (before["when"], before["type"]) == ("2024-05-03T00:00:00.000Z", "fact_done")


def test_facts_of_another_time(keeper: Machine, elsewhere: Machine) -> None:
    old = keeper.call("memory.store", text="The harbour master is Ilse", valid_from="2020")["id"]
    new = keeper.call("memory.store", text="The harbour master is Bo", valid_from="2025-03-01T01:00:00+01:00")["id"]
    keeper.call("memory.update", id=new, supersedes=[old])
    tugs = keeper.ok("remember", "We used two tugs until May 2024").strip()
    keeper.call("memory.store", text="The lighthouse is red", valid_until="9999-12-31")

    found = keeper.json("recall", "harbour master", "--as-of", "2022-06")["results"]
    assert [(hit["id"], hit.get("validity")) for hit in found if "master" in hit["text"]] == [(old, None)]
    found = keeper.json("recall", "harbour master", "--as-of", "2025")["results"]
    assert [hit["id"] for hit in found if "master" in hit["text"]] == [new, old], (
        "both were true in that year, the newer first"
    )
    found = keeper.json("recall", "harbour master", "--as-of", "1999-12-31")["results"]
    assert [hit["validity"] for hit in found if "master" in hit["text"]] == []
    assert keeper.json("recall", "--deep", "harbour master", "--as-of", "2022")["results"][0]["id"] == old
    assert keeper.json("recall", "who was the harbour master in June 2022")["results"][0]["id"] == old
    found = keeper.json("recall", "harbour master")["results"]
    assert [(hit["id"], hit.get("validity")) for hit in found[:2]] == [(new, None), (old, "ended")]

    shown = keeper.ok("recall", "tugs", "we", "used")
    assert f"{tugs}  fact" in shown
    assert "until 2024-05-31  no longer true" in shown
    history = keeper.ok("memory", "history", old)
    assert "from 2020-01-01  until 2025-03-01  superseded by" in history
    assert "from 2025-03-01" in history
    assert keeper.json("memory", "list", "--since", "1d")["total"] == 4
    assert keeper.json("memory", "list", "--since", "2999")["total"] == 0
    keeper.ok("memory", "update", tugs, "--valid-until", "")
    assert keeper.json("memory", "show", tugs)["memories"][0]["valid_until"] is None

    export = keeper.folder / "times.jsonl"
    keeper.ok("memory", "export", str(export))
    elsewhere.ok("memory", "import", str(export))
    fields = ("text", "valid_from", "valid_until", "superseded_at")
    both = [
        [[each[name] for name in fields] for each in it.call("memory.list")["memories"]] for it in (keeper, elsewhere)
    ]
    assert both[0] == both[1]
    assert ["We used two tugs until May 2024", None, None, None] in both[1], "removed times are not read again"


def test_a_session_is_imported_once(keeper: Machine) -> None:
    session = keeper.folder / "session.jsonl"
    lines = [
        {"timestamp": f"2026-05-03T10:{n:02}:00Z", "message": {"role": "user", "content": f"mast number {n} is red"}}
        for n in range(25)
    ]
    session.write_text("".join(json.dumps(each) + "\n" for each in lines) + "{broken\n")
    out = keeper.ok("memory", "import", "--from", str(session), "--namespace", "log", "--limit", "24")
    assert out.startswith("imported 24 memories")
    before = keeper.call("memory.list", whole=True)
    assert before["total"] == 24
    assert before["memories"][0]["when"] == "2026-05-03T10:23:00.000Z"
    assert before["memories"][0]["text"] == "User: mast number 23 is red"
    out = keeper.ok("memory", "import", "--from", str(session), "--namespace", "log", "--limit", "24")
    assert out.startswith("imported 0 memories; 24 already existed")
    assert keeper.call("memory.list", whole=True) == before


def test_an_interrupted_import_of_a_session_continues(keeper: Machine, tmp_path: Path) -> None:
    session = tmp_path / "long.jsonl"
    session.write_text(
        "".join(json.dumps({"role": "user", "content": f"berth {n} is free"}) + "\n" for n in range(20_000))
    )
    command = [sys.executable, "-m", "gnoctl", "memory", "import", "--from", str(session), "--namespace", "berths"]

    def stored() -> int:
        total = keeper.call("memory.list", limit=1)["total"]
        assert isinstance(total, int)
        return total

    with subprocess.Popen(command, env=keeper.environment, stderr=subprocess.PIPE, text=True) as running:
        wait_until(stored)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "importing the file again continues" in said
    assert "Traceback" not in said
    kept = stored()
    assert 0 < kept < 20_000
    out = keeper.ok(*command[3:], "--limit", str(kept + 100))
    assert re.match(r"imported \d+ memories; [\d,]+ already existed", out)
    assert stored() == kept + 100
