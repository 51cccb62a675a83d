"""`gnoctl stats` and `gnoctl doctor --report` of a real daemon with documents, failures and searches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.machine import Machine

# Made-up words of a document, a file, a folder, a query and settings.
WORDS = ["Quarbeln", "brixotti", "Zimbrel", "murgatz", "plonfert", "wexlinger", "tarvosk", "Gnirdel"]

_SAMPLE = re.compile(r'gnod_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e-]+')

pytestmark = pytest.mark.slow


def test_stats_of_requests_processes_and_caches(busy: Machine) -> None:
    busy.ok("search", "deploy")
    assert busy.run("search", 'an "open quote').returncode == 2
    found = busy.json("stats")
    (search,) = [each for each in found["methods"] if each["method"] == "search.lexical"]
    assert search["failures"].keys() == {"query_syntax"}
    assert 0 < search["p50_ms"] <= search["p95_ms"] <= search["total_ms"]
    assert found["processes"][0]["pid"] == busy.pid()
    assert {"daemon", "ingest.workers.worker"} <= {each["process"] for each in found["processes"]}
    assert {each["cache"] for each in found["caches"]} == {"words", "vectors", "postings"}
    table = busy.ok("stats")
    assert [word for word in ("search.lexical", "p95 ms", "daemon", "postings") if word not in table] == []


def test_prometheus_can_read_it(busy: Machine) -> None:
    busy.ok("search", "deploy")
    lines = busy.ok("stats", "--prometheus").splitlines()
    assert [
        line for line in lines if not line.startswith(("# HELP gnod_", "# TYPE gnod_")) and not _SAMPLE.fullmatch(line)
    ] == []
    assert busy.call("daemon.metrics")["text"].splitlines()[:2] == lines[:2]
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(typed) == len(set(typed))
    assert any(line.startswith('gnod_request_seconds{method="search.lexical",quantile="0.95"} ') for line in lines)


def test_what_was_embedded_when(machine: Machine, minilm_onnx: Path) -> None:
    machine.write(a_md="# Boats\n\nThe boat is in the harbour.\n", b_md="# Trees\n\nThe tree is in the garden.\n")
    machine.configure(embed=minilm_onnx)
    machine.ok("index")
    machine.ok("embed")
    found = machine.json("stats")
    assert sum(each["chunks"] for each in found["embedded"]) >= 2
    assert {each["model"] for each in found["embedded"]} == {f"file:{minilm_onnx}"}
    assert found["pending_chunks"] == 0


def test_no_word_of_documents_queries_paths_and_settings_is_in_a_report(machine: Machine) -> None:
    document, file, folder, query, command, context, saved, name = WORDS
    place = machine.folder / folder
    place.mkdir()
    (place / f"{file}.md").write_text(f"# {document}\n\nThe {document} is in the house.\n")
    (place / f"{file}.pdf").write_bytes(b"%PDF-1.4 and then nothing")
    machine.config.parent.mkdir(parents=True, exist_ok=True)
    machine.config.write_text(
        f"models: {{preset: none}}\n"
        f"collections: [{{name: {name.lower()}, path: {place}, update_command: 'true {command}'}}]\n"
        f"contexts: [{{scope: /, text: {context}}}]\n"
        f"searches: [{{name: s, query: {saved}}}]\n"
        f"daemon: {{log_level: debug}}\n"
    )
    machine.ok("index")
    machine.ok("search", document)
    machine.run("search", query)
    machine.run("get", f"{name.lower()}/{query}.md")
    written = machine.folder / "report.md"
    machine.ok("doctor", "--report", str(written))
    text = written.read_text().lower()
    assert [word for word in WORDS if word.lower() in text] == []
    assert str(machine.folder).lower() not in text
    assert [
        word for word in ('"corrupt": 1', "search.lexical", "sync.done", "sqlite_version") if word not in text
    ] == []

    machine.ok("doctor", "--report", "--with-names", str(machine.folder / "named.md"))
    named = (machine.folder / "named.md").read_text().lower()
    assert [word for word in WORDS if word.lower() in named] == [folder, name]
