"""Each command against the fake daemon: its requests and its output."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from gnod.errors import FolderNotFound, QuerySyntaxError, StorageFailed
from gnod.paths import IndexPaths
from gnod.protocol import collections as c
from gnod.protocol import documents as d
from gnod.protocol import index as i
from gnod.protocol.base import Freshness
from gnod.protocol.daemon import Check, DoctorResult
from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

SYNCED = i.IndexSyncResult(
    collections=[i.CollectionSync(name="notes", available=True, seen=3, added=3, took_ms=120.0)], took_ms=120.0
)


def test_notes_are_on_stderr_unless_the_format_has_them(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    pending = Freshness(current=False, state="syncing: 1 file is not indexed yet", pending=1)
    daemon.answers["search.lexical"] = samples.found(samples.hit(), freshness=pending)
    assert gnoctl("search", "x", "--json").err == ""
    assert gnoctl("search", "x", "--csv").err == "syncing: 1 file is not indexed yet\n"


def test_nothing_found_is_status_1_with_a_hint(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    syncing = Freshness(current=False, state="syncing: 3 files are not indexed yet", pending=3)
    daemon.answers["search.lexical"] = samples.found(query="x y", freshness=syncing)
    assert gnoctl("search", "x", "y") == (1, "", "No results for x y\nsyncing: 3 files are not indexed yet\n")
    daemon.answers["search.lexical"] = samples.found(query="x y")
    daemon.answers["collection.list"] = c.CollectionListResult(collections=[])
    assert "gnoctl init FOLDER" in gnoctl("search", "x", "y").err
    assert gnoctl("search", "x", "--csv") == (1, "", "")
    assert gnoctl("search", "x", "--json").status == 1
    daemon.answers["search.lexical"] = samples.found(samples.hit(title='"hits":[]'))
    assert gnoctl("search", "x", "--json").status == gnoctl("search", "x").status == 0


def test_ls_takes_the_collection_as_an_option(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["document.list"] = d.DocumentListResult(documents=[], total=0)
    for words in (["-c", "notes"], ["-c", "notes", "2026"], ["notes/2026"]):
        assert gnoctl("ls", *words).status == 0
    assert [params.scope for _, params in daemon.calls if isinstance(params, d.DocumentListParams)] == [
        "notes",
        "notes/2026",
        "notes/2026",
    ]


def test_an_error_is_a_sentence_or_an_object(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["search.lexical"] = QuerySyntaxError("the quote at 3 is not closed", {"position": 3})
    assert gnoctl("search", 'a "b') == (2, "", "gnoctl: the quote at 3 is not closed\n")
    outcome = gnoctl("search", 'a "b', "--json")
    assert (outcome.status, outcome.err) == (2, "")
    assert json.loads(outcome.out) == {
        "error": {
            "code": "VALIDATION",
            "message": "the quote at 3 is not closed",
            "details": {"position": 3, "kind": "query_syntax", "code": 301},
        }
    }
    daemon.answers["search.lexical"] = StorageFailed("no space left on the disk")
    assert gnoctl("search", "x").status == 2
    assert json.loads(gnoctl("search", "x", "--json").out)["error"]["code"] == "RUNTIME"
    assert gnoctl("search", "--", "--json").out == ""


def test_get_makes_paths_absolute(daemon: FakeDaemon, gnoctl: Gnoctl, here: Path) -> None:
    (here / "a.md").touch()
    daemon.answers["document.get"] = samples.document("one\ntwo\n", start_line=4, stale=True)
    for typed, asked in {
        "a.md": f"{here}/a.md",
        "a.md:12": f"{here}/a.md:12",
        "./b.md": f"{here}/b.md",
        "notes/b.md:3": "notes/b.md:3",
        "#a1b2c3": "#a1b2c3",
        "gno://notes/a.md": "gno://notes/a.md",
    }.items():
        daemon.calls.clear()
        outcome = gnoctl("get", typed, "--from", "4", "-l", "2", "--line-numbers")
        assert daemon.asked(d.DocumentGetParams) == d.DocumentGetParams(ref=asked, start_line=4, max_lines=2)
    assert outcome.out == "    4  one\n    5  two\n"
    assert "has changed since" in outcome.err


def test_get_to_a_file_is_exact(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["document.get"] = samples.document("a\u202eb\n")
    assert gnoctl("get", "#a1b2c3").out == "a\u202eb\n"


def test_multi_get(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    skipped = [d.SkippedReference(ref="notes/big.md", kind="too_large", reason="larger than 10,240 bytes")]
    daemon.answers["document.multi_get"] = d.DocumentMultiGetResult(
        documents=[samples.document("one\n"), samples.document("two\n")], skipped=skipped
    )
    outcome = gnoctl("multi-get", "#a1b2c3,#d4e5f6", "notes/**/*.md")
    assert daemon.asked(d.DocumentMultiGetParams).refs == ["#a1b2c3", "#d4e5f6", "notes/**/*.md"]
    header = "==> gno://notes/deploy/blue.md (#a1b2c3d4) <=="
    assert outcome == (0, f"{header}\none\n\n{header}\ntwo\n", "notes/big.md: larger than 10,240 bytes\n")
    daemon.answers["document.multi_get"] = d.DocumentMultiGetResult(documents=[], skipped=skipped)
    assert gnoctl("multi-get", "notes/big.md").status == 1


def test_many_skipped_documents_are_counted(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    said = {f"gno://notes/{n}.md": "larger than 9 bytes" for n in range(2000)}
    said = {"a": "no document 'a'", **said, "b": "no document 'b'"}
    kinds = {ref: "too_large" if "/" in ref else "document_not_found" for ref in said}
    skipped = [d.SkippedReference(ref=ref, kind=kinds[ref], reason=reason) for ref, reason in said.items()]
    daemon.answers["document.multi_get"] = d.DocumentMultiGetResult(documents=[], skipped=skipped)
    first = ", ".join(f"gno://notes/{n}.md" for n in range(5))
    assert gnoctl("multi-get", "**").err == (
        f"2 references: no document 'a'; no document 'b'\n2,000 larger than 9 bytes: {first} and 1,995 more\n"
    )
    assert len(json.loads(gnoctl("multi-get", "**", "--json").out)["skipped"]) == 2002


def test_ls(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["document.list"] = d.DocumentListResult(documents=[samples.entry()], total=3)
    outcome = gnoctl("ls", "notes")
    assert outcome.out.splitlines()[1] == "#a1b2c3d4  2026-11-20  1.2 kB  notes/deploy/blue.md"
    assert outcome.err == "1 of 3 documents; the next page: --offset 1\n"
    assert gnoctl("ls", "--files").out == "#a1b2c3d4,gno://notes/deploy/blue.md\n"
    daemon.answers["document.list"] = d.DocumentListResult(documents=[], total=0)
    assert gnoctl("ls", "work").err == "No documents in work\n"
    daemon.answers["document.list"] = d.DocumentListResult(documents=[], total=3)
    assert gnoctl("ls", "notes", "--offset", "9").err == "No documents after the first 9: there are 3\n"


def test_collection_add_indexes_at_once(daemon: FakeDaemon, gnoctl: Gnoctl, here: Path) -> None:
    real = here / "real"
    real.mkdir()
    (here / "link").symlink_to(real)
    daemon.answers["collection.add"] = c.CollectionAddResult(
        collection=samples.collection(path=f"{here}/link"), config_file="/c/index.yml"
    )
    daemon.answers["index.sync"] = SYNCED
    outcome = gnoctl("collection", "add", "link", "--include", "md,txt", "--no-gitignore", "--egress", "lan")
    added = daemon.asked(c.CollectionAddParams)
    assert (added.path, added.include, added.gitignore) == (f"{here}/link", ["md", "txt"], False)
    assert added.egress == "lan"
    assert daemon.asked(i.IndexSyncParams).collections == ["notes"]
    assert outcome == (0, f"added notes: {here}/link\nnotes: 3 added · 0.1 s\n", "")

    daemon.calls.clear()
    refused = gnoctl("collection", "add", "link", "--egress", "off")
    assert refused.err.startswith("gnoctl: --egress must be local, lan or any, not 'off'; see")
    assert not daemon.calls
    gnoctl("collection", "add", "link", "--no-index")
    assert [method for method, _ in daemon.calls] == ["collection.add"]


def test_init(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    daemon.answers["index.init"] = i.IndexInitResult(
        config_file="/c/index.yml", config_created=True, data_dir="/d", cache_dir="/k", database="/d/x", socket="/s"
    )
    assert gnoctl("init") == (0, "created /c/index.yml\nnext: `gnoctl collection add FOLDER`\n", "")
    daemon.answers["collection.add"] = FolderNotFound(f"there is no folder {tmp_path}/nope")
    outcome = gnoctl("init", f"{tmp_path}/nope", "--name", "x")
    assert outcome.status == 2
    assert outcome.err == f"gnoctl: there is no folder {tmp_path}/nope\n"


def test_index_and_update(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.sync"] = SYNCED
    assert gnoctl("index", "notes").out == "notes: 3 added · 0.1 s\n"
    assert daemon.asked(i.IndexSyncParams) == i.IndexSyncParams(collections=["notes"], progress_token=1)
    daemon.calls.clear()
    gnoctl("update")
    assert daemon.asked(i.IndexSyncParams) == i.IndexSyncParams(update=True, progress_token=1)


def test_a_missing_folder_is_reported(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    gone = i.CollectionSync(name="usb", available=False, reason="/media/usb is not there")
    failing = i.CollectionSync(name="notes", available=True, unchanged=5, failed=1)
    daemon.answers["index.sync"] = i.IndexSyncResult(collections=[gone, failing], took_ms=1.0)
    outcome = gnoctl("index")
    assert outcome.status == 2
    assert outcome.out == "notes: 5 unchanged, 1 failed · 0.0 s\n"
    assert "usb: not indexed: /media/usb is not there; its documents stay" in outcome.err
    assert "1 file could not be read (`gnoctl status --errors` lists them)" in outcome.err


def test_collections_and_contexts(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers |= {
        "collection.list": c.CollectionListResult(collections=[samples.collection()]),
        "collection.remove": c.CollectionRemoveResult(name="notes", removed_documents=1),
        "collection.rename": c.CollectionRenameResult(name="notes", new_name="n"),
        "context.add": c.ContextAddResult(context=c.ContextInfo(scope="/", text="all of it")),
        "context.list": c.ContextListResult(contexts=[c.ContextInfo(scope="/", text="all of it")]),
        "context.remove": c.ContextRemoveResult(removed=[c.ContextInfo(scope="/", text="all of it")]),
    }
    assert "notes               3  **/*     /home/u/notes" in gnoctl("collection", "list").out
    listed = json.loads(gnoctl("collection", "list", "--json").out)
    assert listed == msgspec.to_builtins(daemon.answers["collection.list"])
    assert gnoctl("collection", "rm", "notes").out == "removed notes: 1 document left the index\n"
    assert gnoctl("collection", "rename", "notes", "n").out == "renamed notes to n\n"
    assert gnoctl("context", "add", "/", "all", "of", "it").out == "/  all of it\n"
    assert daemon.asked(c.ContextAddParams).text == "all of it"
    assert gnoctl("context", "list").out == "/  all of it\n"
    assert json.loads(gnoctl("context", "list", "--json").out)["contexts"] == [{"scope": "/", "text": "all of it"}]
    assert gnoctl("context", "rm", "/").out == "removed 1 context\n"
    assert daemon.asked(c.ContextRemoveParams) == c.ContextRemoveParams(scope="/")


def test_status(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    when: dict[str, Any] = {"first_at": "2026-11-20T10:00:00+00:00", "last_at": "2026-11-20T10:00:00+00:00"}
    late: dict[str, Any] = {"stage": "convert", "kind": "timeout", "message": "took longer than 60 s"}
    error = i.IngestError(collection="notes", path="a\x1b.pdf", count=2, **late, **when)
    counts = {"on_disk": 4, "indexed": 3, "pending": 0, "failed": 1, "excluded": 2, "chunks": 12, "embedded": 3}
    models = {"model": "file:/m/old.gguf", "next_model": "file:/m/new.gguf", "unembeddable": 1, "wordless": 3}
    watched = {"available": True, "watch": "polling", "watch_reason": "inotify limit reached"}
    collection = i.CollectionStatus(name="notes", path="/home/u/notes", **counts, **models, **watched)  # type: ignore[arg-type]
    status = i.IndexStatusResult(
        index="default",
        database="/d/index-default.sqlite",
        database_bytes=12_345_678,
        documents=3,
        chunks=9,
        languages={"": 1, "en": 2},
        collections=[collection],
        freshness=Freshness(current=True, state="current", failed=1, unwatched=["notes", "work"]),
        syncing=False,
        embedding=i.EmbeddingStatus(
            state="waiting", reason="the model is not \x1b[31mhere", pending=6, done=0, failed=0
        ),
        inference=i.InferenceStatus(state="off", resident_bytes=0, crashes=2, last_crash="signal SIGSEGV"),
        config_file="/c/index.yml",
        errors=[error],
    )
    daemon.answers["index.status"] = status
    shown = gnoctl("status", "--errors").out
    for part in (
        "Index default: 3 documents, 9 chunks, 12.3 MB",
        "languages: en 2, unknown 1",
        "notes: inotify limit reached",
        "notes: 1 file could not be read: ",
        "\ncurrent\n",
        "changes in work are not watched:",
        "notes/a␛.pdf",
        "timeout: took longer than 60 s",
        "33 %",
        "embedding is waiting: the model is not ␛[31mhere",
        "notes: file:/m/old.gguf serves searches until all vectors of file:/m/new.gguf exist",
        "1 chunk could not be embedded",
        "notes: not embedded: 3 chunks of numbers or encoded data (keyword search finds them)",
        "crashed 2 times, last: signal SIGSEGV",
    ):
        assert part in shown
    assert daemon.asked(i.IndexStatusParams).errors
    large = structs.replace(collection, failed=0, verified=False, on_disk=None, excluded=None, watch_reason=None)
    daemon.answers["index.status"] = structs.replace(status, collections=[large], freshness=samples.CURRENT)
    shown = gnoctl("status").out
    assert "notes: not compared with the disk now; `gnoctl status --verify` does that" in shown
    assert "\ncurrent\n" in shown
    assert "compared with the disk now" not in shown.replace("not compared with the disk now", "")
    assert daemon.calls[-1][1] == i.IndexStatusParams()
    gnoctl("status", "--verify")
    assert daemon.calls[-1][1] == i.IndexStatusParams(verify=True)


def test_why(daemon: FakeDaemon, gnoctl: Gnoctl, here: Path) -> None:
    verdict = i.WhyCollection(collection="notes", path="a.md", verdict="excluded", reason="matches 'drafts'")
    daemon.answers["index.why"] = i.IndexWhyResult(
        path=f"{here}/a.md", exists=False, collections=[verdict], reason="the file is not there"
    )
    shown = gnoctl("why", "./a.md").out
    assert daemon.asked(i.IndexWhyParams).path == os.fspath(here / "a.md")
    assert "notes: excluded" in shown
    assert "matches 'drafts'" in shown


def test_cleanup_and_doctor(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["index.cleanup"] = i.IndexCleanupResult(
        removed_documents=2, removed_contents=1, freed_bytes=4096, database_bytes=8192
    )
    assert gnoctl("cleanup").out == "removed 2 documents and 1 text, freed 4.1 kB; the database has 8.2 kB\n"
    check = Check(name="watch", status="warning", message="limit reached", remedy="sysctl …")
    daemon.answers["doctor.run"] = DoctorResult(healthy=True, checks=[check])
    outcome = gnoctl("doctor")
    assert outcome.status == 0
    assert "! watch: limit reached\n    → sysctl …\n" in outcome.out
    assert str(daemon.places.socket) in outcome.out


def test_doctor_has_something_to_say_without_a_daemon(gnoctl: Gnoctl) -> None:
    outcome = gnoctl("doctor")
    assert outcome.status == 2
    assert "✗ daemon: gnod is not running" in outcome.out


def test_socket(places: IndexPaths, gnoctl: Gnoctl) -> None:
    assert gnoctl("socket").out == f"{places.socket}\n"
    assert gnoctl("--index", "work", "socket").out == f"{places.cache_dir}/work.sock\n"
