"""Conversations in the daemon: found at their messages, and without the secrets in them."""

from __future__ import annotations

import json

from tests import conversation_files as files
from tests.machine import Machine, wait_until

KEY = "ghp_" + "a1B2" * 9


def test_conversations_are_found_without_their_secrets(machine: Machine) -> None:
    said = [files.claude_code("user", f"Is {KEY} the key?"), files.claude_code("assistant", "The keel is bolted.")]
    (machine.notes / "5e55.jsonl").write_text("\n".join(said) + "\n", encoding="utf-8")
    talks = [
        files.claude_ai("Keel", "How is the keel fastened?", "Bolted."),
        files.claude_ai("Mast", "Mast?", "Rigged."),
    ]
    (machine.notes / "conversations.json").write_text(json.dumps(talks), encoding="utf-8")
    (machine.notes / "export.zip").write_bytes(
        files.slack({"keel/2026-03-04.json": json.dumps([files.slack_message("Tarred")])})
    )
    machine.ok("init", str(machine.notes), "--name", "notes")
    for words, path in [
        ("bolted", "notes/5e55.jsonl"),
        ("rigged", "notes/conversations.json!/Mast"),
        ("tarred", "notes/export.zip"),
    ]:
        assert path in str(machine.json("search", words)), words
    assert KEY not in machine.ok("get", "notes/5e55.jsonl")
    assert machine.json("search", KEY)["hits"] == []

    collection = f"{{name: notes, path: {machine.notes}, mask_secrets: false}}"
    machine.config.write_text(f"collections:\n  - {collection}\n", encoding="utf-8")
    wait_until(lambda: KEY in machine.ok("get", "notes/5e55.jsonl"))
