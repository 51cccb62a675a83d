"""Models with real processes: gnoctl, the daemon, the download process, and a hub on loopback."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import Machine, temporary_machine, wait_until, without_waiting
from tests.models import replicas
from tests.models.hub_imitation import HubImitation, small_model
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

EMBED = "hf:org/repo/embed.gguf"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubImitation]:
    model = small_model(tmp_path / "small.gguf")
    with HubImitation({"org/repo": {"embed.gguf": model, "other.gguf": model}}) as serving:
        yield serving


@pytest.fixture(scope="module")
def shared() -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.ok("init")
        yield machine


@pytest.fixture
def machine(shared: Machine, hub: HubImitation) -> Iterator[Machine]:
    """A machine with one collection, which has its own model. Only gnoctl's environment names the hub.

    The daemon serves all tests. Each test starts without models.
    """
    shared.config.write_text(
        f'collections:\n  - name: notes\n    path: {shared.notes}\n    models: {{embed: "{EMBED}"}}\n'
        "models:\n  preset: slim # the default\n"
    )
    shared.ok("models", "list")  # starts the daemon, and lets it read the config
    before = dict(shared.environment)
    shared.environment |= {"HF_ENDPOINT": hub.url, "NO_PROXY": "*"}
    yield shared
    shared.environment = before
    shutil.rmtree(shared.folder / "cache" / "models", ignore_errors=True)


def test_from_pull_to_clear(machine: Machine, hub: HubImitation) -> None:
    (before,) = [each for each in machine.json("models", "list")["models"] if each["uri"] == EMBED]
    assert (before["installed"], before["uses"]) == (False, [{"role": "embed", "collection": "notes"}])
    assert machine.run("models", "path", EMBED).returncode == 2
    assert "gnoctl models pull" in machine.run("models", "path", EMBED).stderr

    (pulled,) = machine.json("models", "pull", EMBED)["models"]
    assert pulled["fetched"]
    assert not machine.json("models", "pull", EMBED)["models"][0]["fetched"]
    assert len(hub.downloads) == 1
    assert machine.json("models", "pull", EMBED, "--force")["models"][0]["fetched"]
    assert machine.ok("models", "path", EMBED) == f"{pulled['path']}\n"
    assert Path(pulled["path"]).read_bytes()[:4] == b"GGUF"

    # Nothing uses the other model, and the first still belongs to the collection.
    machine.ok("models", "pull", "hf:org/repo:other")
    listed = {each["uri"]: each for each in machine.json("models", "list")["models"]}
    assert listed["hf:org/repo:other"]["uses"] == []
    assert listed[EMBED]["installed"]
    assert machine.json("models", "clear", "hf:org/repo:other", "--yes")["freed_bytes"] > 400_000
    assert machine.json("models", "clear", "--all", "--yes")["freed_bytes"] > 400_000
    assert machine.json("models", "list")["total_bytes"] == 0
    assert Path(machine.ok("models", "path").strip()) == machine.folder / "cache" / "models"


def test_a_role_is_the_presets_model_and_the_collections(machine: Machine, hub: HubImitation) -> None:
    done = machine.run("models", "pull", "embed")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no repository Qwen/Qwen3-Embedding-0.6B-GGUF" in done.stderr
    assert machine.run("models", "pull", "embedding").stderr.endswith("did you mean 'embed'?\n")
    assert machine.run("models", "pull", "hf:org/repo").returncode == 2


def test_a_repository_serves_searches_and_a_bad_one_changes_nothing(
    machine: Machine, hub: HubImitation, tmp_path: Path
) -> None:
    folder = replicas.write(tmp_path / "replica", replicas.EMBEDDERS["bert"])
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    hub.repositories["org/bert"] = files
    hub.repositories["org/llama"] = {"config.json": b'{"model_type": "llama"}', "model.safetensors": b"x"}
    machine.config.write_text(machine.config.read_text().replace(EMBED, "hf:org/bert"))
    (machine.notes / "bees.md").write_text("# Bees\n\nBees find their way back by the sun.\n")
    machine.ok("models", "pull", "hf:org/bert")
    machine.ok("embed")
    assert machine.json("vsearch", "how do insects navigate")["hits"]
    cut = files["model.safetensors"][:-1000]
    hub.repositories["org/bert"] = files | {"model.safetensors": cut}
    changed = machine.run("models", "pull", "hf:org/bert", "--force").stderr
    accepted = f"gnoctl models pull --accept {hashlib.sha256(cut).hexdigest()} hf:org/bert"
    assert accepted in changed.replace("\n", " ")
    bad = machine.run(*accepted.split()[1:]).stderr
    assert "cannot be used: model.safetensors is cut off" in bad.replace("\n", " ")
    assert machine.json("vsearch", "how do insects navigate")["hits"]
    machine.config.write_text(machine.config.read_text().replace("hf:org/bert", "hf:org/llama"))
    refused = machine.run("models", "pull", "hf:org/llama").stderr
    assert "it is of type llama and has no ONNX file" in refused.replace("\n", " ")
    assert machine.json("vsearch", "how do insects navigate")["hits"]


def test_after_a_failed_download_all_that_was_asked_for_is_due(machine: Machine, hub: HubImitation) -> None:
    hub.status = 403
    failed = machine.run("models", "pull")
    assert failed.returncode == 2
    assert "The daemon downloads it again in the background" in failed.stderr.replace("\n", " ")
    due = machine.json("status")["downloads_due_s"]
    assert EMBED in due
    assert len(due) > 2, "also the models of the preset"
    assert all(0 < due_s <= 60 for due_s in due.values())
    assert f"the download of {EMBED} failed: downloading again in" in machine.ok("status")
    machine.ok("models", "clear", "--all", "--yes")
    assert machine.json("status")["downloads_due_s"] == {}


def test_use_edits_the_file_and_keeps_its_comments(machine: Machine) -> None:
    used = machine.json("models", "use", "mini")
    assert (used["preset"], used["previous"]) == ("mini", "slim")
    assert EMBED in used["missing"]
    assert machine.config.read_text().endswith("models:\n  preset: mini # the default\n")
    assert machine.json("models", "list")["preset"] == "mini"
    assert "did you mean 'mini'?" in machine.run("models", "use", "minni").stderr
    assert "no model for rerank" in machine.run("models", "pull", "rerank").stderr


def test_ctrl_c_stops_the_pull_and_the_next_goes_on(machine: Machine, hub: HubImitation) -> None:
    hub.holds_after = 200_000
    pulling = _spawn(machine, "models", "pull", EMBED)
    wait_until(lambda: _listed(machine)["partial_bytes"] > 200_000)
    assert _listed(machine)["fetching"]
    refused = machine.run("models", "clear", "--all", "--yes")
    assert "is being fetched" in refused.stderr
    pulling.send_signal(signal.SIGINT)
    out, err = pulling.communicate(timeout=60)
    assert (pulling.returncode, out, without_progress(err)) == (130, "", "")
    wait_until(lambda: not _listed(machine)["fetching"])
    hub.release()
    hub.requests.clear()
    machine.ok("models", "pull", EMBED)
    assert [each.start for each in hub.downloads] == [200_000]


def test_only_the_listed_variables_may_be_passed_on(machine: Machine) -> None:
    network = {"HF_TOKEN": "hf_secret", "LD_PRELOAD": "/evil_secret.so"}
    answer = machine.answer("models.pull", models=[EMBED], network=network)
    assert answer["error"]["code"] == -32602
    assert "'LD_PRELOAD' is not a variable" in answer["error"]["message"]
    assert "secret" not in json.dumps(answer)


def test_tokens_are_not_logged(machine: Machine) -> None:
    machine.environment["HF_TOKEN"] = "hf_very_secret"
    machine.ok("models", "pull", EMBED)
    log = (machine.folder / "data" / "logs" / "gnod-default.log").read_text()
    assert "model.pulled" in log
    assert "very_secret" not in log


def test_the_bar_counts_bytes(machine: Machine, hub: HubImitation) -> None:
    hub.holds_after = 200_000
    command = [sys.executable, "-m", "gnoctl", "models", "pull", EMBED]
    with Terminal(command, {**machine.environment, "TERM": "xterm", "COLUMNS": "120"}) as terminal:
        terminal.read_until(lambda shown: " kB/400.8 kB" in shown)  # some of the file, until the hub releases the rest
        hub.release()
        assert terminal.finish() == 0
    assert "download embed" in terminal.shown


def _spawn(machine: Machine, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gnoctl", *words],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def without_progress(err: str) -> str:
    """Remove the lines about the progress of a download, which come every few seconds."""
    lines = without_waiting(err).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("download embed: "))


def _listed(machine: Machine) -> dict[str, int]:
    (found,) = [each for each in machine.json("models", "list")["models"] if each["uri"] == EMBED]
    assert isinstance(found, dict)
    return found
