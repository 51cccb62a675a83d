"""Recall of memories, measured on a folder of a few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluate.measuring import measure
from tests.evaluate.tiny import write_lines

pytestmark = pytest.mark.slow

MEMORIES: list[dict[str, object]] = [
    {"id": "a1", "namespace": "a", "speaker": "Ada", "when": "8 May, 2023", "text": "I moved to Lisbon yesterday."},
    {"id": "a2", "namespace": "a", "speaker": "Bo", "when": "8 May, 2023", "text": "The kayak is blue."},
    {"id": "b1", "namespace": "b", "text": "Staging is restored from production every Monday."},
]
QUESTIONS = [
    {"id": "1", "namespace": "a", "question": "When did Ada move?", "category": "temporal", "evidence": ["a1"]},
    {"id": "2", "namespace": "a", "question": "colour of the kayak", "category": "single", "evidence": ["a2", "gone"]},
    {"id": "3", "namespace": "b", "question": "how is staging restored", "category": "single", "evidence": ["b1"]},
    {"id": "4", "namespace": "b", "question": "who restores it", "category": "adversarial", "evidence": ["b1"]},
]


def test_recall_of_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm_onnx: Path) -> None:
    monkeypatch.setenv("GNO_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("GNO_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "few"
    folder.mkdir()
    for name, rows in (("memories", MEMORIES), ("queries", QUESTIONS)):
        write_lines(folder / f"{name}.jsonl", rows)
    words = ["--memory", f"--model=file:{minilm_onnx}", str(folder)]

    status, out, _ = measure(*words, "--json")
    assert status == 0
    (measured,) = json.loads(out)
    assert measured["memories"] == 3
    recall = {each["category"]: each for each in measured["recall"]}
    assert recall.keys() == {"all", "temporal", "single"}
    assert recall["all"]["questions"] == 3
    assert recall["all"]["at"]["1"] == recall["temporal"]["at"]["5"] == 1.0
    assert measured["empty"]["answered"] == 0

    assert "R@20" in measure(*words)[1]

    (folder / "queries.jsonl").write_text("{}")
    status, _, err = measure(*words)
    assert status != 0
    assert "queries.jsonl has an invalid line" in err
