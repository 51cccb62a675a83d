"""`gnoctl remember`, `recall` and `memory …` against the fake daemon: their requests and their output."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gnod.errors import MemoryLocked
from gnod.protocol import memory as m
from tests.client.conftest import Gnoctl, Typed
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import memory


def recalled(*results: m.MemoryFound, notes: Sequence[str] = ()) -> m.MemorySearchResult:
    counts = "Reranked 64 of 81, returned 2"
    return m.MemorySearchResult(results=[*results], counts=counts, topics={"kayak": 2}, notes=[*notes])


def record(text: str = "The kayak is blue.", name: str = "m4x0q2v7ke") -> m.MemoryRecord:
    said = {"type": "fact", "namespace": "personal"} | dict.fromkeys(("created", "updated"), "2026-11-21T10:00:00.042Z")
    return m.MemoryRecord(id=name, text=text, topics=["kayak"], **said)  # type: ignore[arg-type]


def status(**changes: object) -> m.MemoryStatusResult:
    fields: dict[str, object] = {"unlocked": False, "opens_by_itself": False, "key": None, "keyring_problem": None}
    return m.MemoryStatusResult(**fields | changes)  # type: ignore[arg-type]


def test_remember_asks_with_what_is_on_the_command_line(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.store"] = m.MemoryStoreResult(id="m4x0q2v7ke", existed=False)
    words = ("remember", "The kayak", "is blue", "-t", "decision", "--topic", "kayak", "--topic", "a, b")
    assert gnoctl(*words, "--namespace", "team") == (0, "m4x0q2v7ke\n", "")
    assert daemon.asked(m.MemoryStoreParams) == m.MemoryStoreParams(
        text="The kayak is blue", type="decision", topics=["kayak", "a, b"], namespace="team"
    )


def test_without_a_text_on_a_terminal_it_says_what_to_do(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("remember", stdin=Typed())
    assert (outcome.status, "nothing to remember" in outcome.err) == (2, True)
    assert daemon.calls == []


def test_recall_draws_what_was_found(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.search"] = recalled(
        memory("first line\nsecond line"), memory(id="mzzz", rerank=0.25, namespace="team", topics=[]), notes=["a note"]
    )
    outcome = gnoctl("recall", "blue", "kayak", "--namespace", "team", "--budget", "5")
    assert outcome.out.splitlines() == [
        "0.87  vector 0.61  m4x0q2v7ke  fact  2026-11-21  kayak",
        "  first line",
        "  second line",
        "",
        "0.25  vector 0.61  mzzz  fact  2026-11-21  (team)",
        "  The kayak is blue.",
        "",
        "Reranked 64 of 81, returned 2",
        "a note",
    ]
    asked = daemon.asked(m.MemorySearchParams)
    assert (asked.query, asked.namespaces, asked.limit, asked.budget_s) == ("blue kayak", ["team"], 10, 5.0)


def test_weak_results_are_called_weak(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.search"] = recalled(memory(rerank=0.19), memory(rerank=0.05))
    assert "All results are weak (below 0.20)" in gnoctl("recall", "kayak").out


def test_nothing_found_is_said(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.search"] = recalled(notes=["no model"])
    assert gnoctl("recall", "kayak") == (1, "", "No memories match kayak\nno model\n")
    assert json.loads(gnoctl("recall", "kayak", "--json").out)["results"] == []


def test_deep_searches_have_another_limit(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.deep_search"] = recalled(memory())
    assert gnoctl("recall", "--deep", "--json", "blue", "kayak").status == 0
    assert daemon.asked(m.MemoryDeepSearchParams).limit == 100
    assert gnoctl("recall", "-n", "33", "kayak").err == "gnoctl: --limit is at most 32, and 100 with --deep\n"
    assert gnoctl("recall", "-n", "33", "--deep", "kayak").status == 0


def test_no_memory_can_write_to_the_terminal(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    evil = "\x1b]0;owned\x07\u202eevil"
    daemon.answers["memory.search"] = recalled(memory(evil, topics=[evil], type=evil, id=evil), notes=[evil])
    daemon.answers["memory.list"] = m.MemoryListResult(memories=[record(evil, evil)], total=1, notes=[evil])
    daemon.answers["memory.retrieve"] = m.MemoryRecordsResult(memories=[record(evil)])
    for words in (["recall", "x"], ["memory", "list"], ["recall", "--json", "x"], ["memory", "list", "--json"]):
        out = gnoctl(*words).out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert gnoctl("memory", "show", "x").out.splitlines()[1] == evil  # into a pipe, it is written unchanged


def test_forgetting_asks_first_and_shows_what(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.retrieve"] = m.MemoryRecordsResult(memories=[record()])
    daemon.answers["memory.forget"] = m.MemoryForgetResult(forgotten=1)
    forget = ("memory", "forget", "m4x0q2v7ke")
    outcome = gnoctl(*forget, stdin=Typed("\n"))
    assert (outcome.status, "The kayak is blue." in outcome.err) == (1, True)
    assert gnoctl(*forget, stdin=Typed("y\n")).out == "deleted 1 memory\n"
    assert "add --yes" in gnoctl(*forget, stdin=io.StringIO()).err


def test_an_export_that_fails_leaves_the_last_one(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    target = tmp_path / "memories.jsonl"
    daemon.answers["memory.list"] = m.MemoryListResult(memories=[record()], total=1)
    assert "contains 1 memory, unencrypted" in gnoctl("memory", "export", str(target)).err
    assert target.stat().st_mode & 0o777 == 0o600
    before = target.read_text()
    daemon.answers["memory.list"] = MemoryLocked("locked")
    assert gnoctl("memory", "export", str(target)).status == 2
    assert target.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["memories.jsonl"]
    assert gnoctl("memory", "export", str(tmp_path / "no" / "x")).status == 2


def test_an_import_is_checked_before_anything_is_sent(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text('{"text": "a", "id": "m1", "namespace": "team"}\n\n{"txt": "b"}\n')
    outcome = gnoctl("memory", "import", str(source))
    assert (outcome.status, "line 3 of" in outcome.err) == (2, True)
    assert daemon.calls == []
    source.write_text("\n".join(json.dumps({"text": str(number)}) for number in range(45)))
    daemon.answers["memory.import"] = lambda params: m.MemoryManyResult(
        memories=[m.MemoryStoreResult(id="m", existed=each.text == "0") for each in params.records]  # type: ignore[attr-defined]
    )
    assert gnoctl("memory", "import", str(source)).out == "imported 44 memories; 1 already existed\n"
    assert [len(params.records) for _, params in daemon.calls] == [20, 20, 5]  # type: ignore[attr-defined]


def test_which_passphrase_is_sent(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.unlock"] = status(unlocked=True, key="keyring", memories=3, unembedded=0)
    for state, typed, sent in (
        (status(key="keyring"), "never read\n", None),
        (status(key="passphrase", keyring_problem="none"), "nine masts\n", "nine masts"),
        (status(keyring_problem="none"), "nine masts", "nine masts"),
        (status(), "", None),
        (status(), "nine masts\r\n", "nine masts"),
    ):
        daemon.calls.clear()
        daemon.answers["memory.status"] = state
        outcome = gnoctl("memory", "unlock", stdin=io.StringIO(typed))
        assert outcome.out == "unlocked; the key is in the system keyring\n3 memories\n"
        assert daemon.asked(m.MemoryUnlockParams).passphrase == sent, (state, typed)
    daemon.answers["memory.status"] = status(key="passphrase")
    outcome = gnoctl("memory", "unlock", stdin=io.StringIO("\n"))
    assert outcome == (2, "", "gnoctl: no passphrase was given\n")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (status(opens_by_itself=True), "locked until the first use, which unlocks them; no memory is stored yet"),
        (status(key="passphrase"), "locked: run `gnoctl memory unlock`; the key is protected by a passphrase"),
        (status(keyring_problem="none here"), "locked: run `gnoctl memory unlock`; no memory is stored yet"),
    ],
)
def test_the_status(daemon: FakeDaemon, gnoctl: Gnoctl, state: m.MemoryStatusResult, said: str) -> None:
    daemon.answers["memory.status"] = state
    assert gnoctl("memory", "status").out.splitlines()[0] == said


def test_remember_says_when_it_happened_and_what_it_supersedes(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    proposal = m.MemoryProposal(id="mold", text="It is red.", reason='the same about "kayak"', time="2026-05-01")
    daemon.answers["memory.store"] = m.MemoryStoreResult(id="mnew", existed=False, proposals=[proposal])
    outcome = gnoctl("remember", "It is blue", "--when", "2026-05-31", "--supersedes", "mred")
    asked = daemon.asked(m.MemoryStoreParams)
    assert (asked.when, asked.supersedes) == ("2026-05-31", ["mred"])
    assert outcome.out == "mnew\n"
    assert "mold may be superseded" in outcome.err
    assert "`gnoctl memory update mnew --supersedes mold`" in outcome.err


def test_update_changes_only_what_is_named(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.update"] = record()
    assert "nothing to change" in gnoctl("memory", "update", "m1").err
    assert gnoctl("memory", "update", "m1", "--remove-topic", "~kayak", "--when", "").status == 0
    assert daemon.asked(m.MemoryUpdateParams) == m.MemoryUpdateParams(id="m1", remove_topics=["kayak"], when="")
    daemon.calls.clear()
    gnoctl("memory", "update", "m1", "--topic", "")
    assert daemon.asked(m.MemoryUpdateParams) == m.MemoryUpdateParams(id="m1", topics=[""])


def test_suggested_topics_and_links_are_shown(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    old = memory(type="fact_done", suggested=["boat"], superseded_by="mnew", when="2020-02-03T00:00:00.000Z")
    daemon.answers["memory.search"] = recalled(old)
    head = gnoctl("recall", "kayak").out.splitlines()[0]
    assert head == "0.87  vector 0.61  m4x0q2v7ke  fact_done  2020-02-03  kayak, ~boat  superseded by mnew"


def test_history_lists_the_chain(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["memory.history"] = m.MemoryHistoryResult(
        memories=[record("It is blue"), record("It is red", "mold")]
    )
    lines = gnoctl("memory", "history", "mold").out.splitlines()
    assert [line.strip() for line in lines[1::2]] == ["It is blue", "It is red"]


def test_a_session_is_shown_first(gnoctl: Gnoctl, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    lines = [
        {"role": "user", "content": "use\ttabs \u001b[31m", "timestamp": "2026-05-03T10:00:00Z"},
        {"role": "user", "content": "password: hunter22"},
        {"type": "tool"},
    ]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    outcome = gnoctl("memory", "import", "--from", str(file), "--dry-run")
    first, *rest = outcome.out.splitlines()
    assert first.startswith("2026-05-03 10:00  User: use tabs")
    assert "\x1b" not in outcome.out
    assert rest == [
        "would import 1 turn; nothing was stored",
        "1 turn left out: they seem to contain a key, a token or a password",
        "1 line skipped: not a turn of a conversation",
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b"\x00\x01\n\xff", "is not JSON Lines: none of its 2 lines can be read"),
        ("{}".encode("utf-16"), "is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`"),
        (b"{}\n", "1 line skipped: not a turn of a conversation"),
    ],
)
def test_files_without_turns_are_refused(data: bytes, problem: str, gnoctl: Gnoctl, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(data)
    outcome = gnoctl("memory", "import", "--from", str(file))
    assert (outcome.status, problem in outcome.err) == (2, True)


def test_import_takes_one_file(gnoctl: Gnoctl) -> None:
    assert "give one file" in gnoctl("memory", "import").err
    assert "give one file" in gnoctl("memory", "import", "a", "--from", "b").err
    assert "add --from" in gnoctl("memory", "import", "a", "--dry-run").err
