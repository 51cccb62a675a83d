"""`gnoctl doctor` tests the installed models, and suggests fixes for the missing ones."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.machine import Machine
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = pytest.mark.slow


def use(machine: Machine, model: Path) -> None:
    """Write a config whose one collection is embedded by this file."""
    machine.config.parent.mkdir(exist_ok=True)
    machine.config.write_text(
        f'collections:\n  - {{name: notes, path: {machine.notes}, models: {{embed: "file:{model}"}}}}\n'
    )


def checks(machine: Machine, status: int = 0) -> dict[str, dict[str, Any]]:
    done = machine.run("doctor", "--json")
    assert done.returncode == status, done.stdout
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_missing_model_has_a_remedy(machine: Machine) -> None:
    machine.ok("init", str(machine.notes))
    machine.ok("models", "use", "slim")
    found = checks(machine)
    embed = found["model Qwen3-Embedding-0.6B-Q8_0"]
    assert (embed["status"], embed["remedy"]) == ("warning", "gnoctl models pull embed")
    assert "keyword search" in embed["message"]
    others = [check for name, check in found.items() if name.startswith("model ") and check != embed]
    assert [check["remedy"] for check in others] == ["gnoctl models pull rerank", "gnoctl models pull expand"]
    assert "`gnoctl ask` cannot answer" in others[1]["message"]
    assert found["inference worker"]["message"] == "off"
    assert found["sqlite-vec"]["status"] == "ok"


def test_an_installed_model_is_tested(machine: Machine, minilm_onnx: Path) -> None:
    use(machine, minilm_onnx)
    asked = checks(machine)[f"model {minilm_onnx.parent.name}"]
    assert asked["status"] == "ok"
    assert "embeds a query in" in asked["message"]
    assert "384 dimensions" in asked["message"]

    os.kill(machine.json("status")["inference"]["pid"], signal.SIGKILL)
    found = checks(machine)
    assert found[f"model {minilm_onnx.parent.name}"]["status"] == "ok"
    assert found["inference worker"]["status"] == "warning"
    assert "crashed once since the daemon started, last: signal SIGKILL" in found["inference worker"]["message"]


@pytest.mark.stress
def test_doctor_tests_each_model_in_its_role(machine: Machine, smollm_gguf: Path, tmp_path: Path) -> None:
    ranker = CrossEncoder(SEED).write(tmp_path / "ranker.gguf")
    machine.config.parent.mkdir(exist_ok=True)
    machine.config.write_text(
        f"models: {{embed: none, rerank: 'file:{ranker}', expand: none, answer: 'file:{smollm_gguf}'}}\n"
    )
    found = checks(machine)
    assert found["model ranker"]["message"].startswith("reranks 2 sentences in ")
    assert found[f"model {smollm_gguf.stem}"]["message"].endswith(" tokens a second")


def test_a_model_that_cannot_be_loaded_is_an_error(machine: Machine) -> None:
    model = machine.folder / "broken.gguf"
    model.write_bytes(b"GGUF" + bytes(1000))
    use(machine, model)
    broken = checks(machine, status=2)["model broken"]
    assert broken["status"] == "error"
    assert broken["message"].startswith("cannot embed: ")
    model.unlink()
    missing = checks(machine)["model broken"]
    assert missing["status"] == "warning"
    assert "no vector search in notes" in missing["message"]
    assert "index.yml" in missing["remedy"]


@pytest.mark.stress
def test_without_sqlite_vec(machine: Machine) -> None:
    (machine.folder / "path").mkdir()
    (machine.folder / "path" / "sqlite_vec.py").write_text("raise ImportError\n")
    machine.environment["PYTHONPATH"] = str(machine.folder / "path")
    machine.ok("init", str(machine.notes))
    missing = checks(machine)["sqlite-vec"]
    assert missing["status"] == "warning"
    assert "sqlite-vec is not installed. Vector search works without it" in missing["message"]
