"""`gnoctl init` and `gnoctl models use auto` with real processes, a hub on loopback, tiny models with real names."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod.presets import PRESETS
from tests.machine import Machine, temporary_machine, wait_until
from tests.models import replicas
from tests.models.hub_imitation import HubImitation
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

EMBEDDER, RERANKER = "MongoDB/mdbr-leaf-ir", "cross-encoder/ettin-reranker-17m-v1"
PROSE = (
    "The night ferry leaves the harbour when the tide is high, and the passengers watch the lights of the town until "
    "they can no longer be seen. In the morning there is coffee on the deck, and the islands appear one after another."
)
KEYWORDS = "Keyword search works now; `gnoctl models pull embed rerank` downloads the rest"


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("repositories")
    made = {
        EMBEDDER: replicas.write(folder / "embedder", replicas.EMBEDDERS["bert-dense"]),
        RERANKER: replicas.write(folder / "reranker", replicas.RERANKERS["bert"]),
    }
    return {
        name: {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for name, root in made.items()
    }


@pytest.fixture
def hub(repositories: dict[str, dict[str, bytes]]) -> Iterator[HubImitation]:
    with HubImitation(repositories) as serving:
        yield serving


@pytest.fixture
def machine(hub: HubImitation) -> Iterator[Machine]:
    """A machine with English notes. It can reach this hub, but no package index."""
    with temporary_machine() as machine:
        machine.chooses_models = True
        pip = machine.folder / "pip.conf"
        pip.write_text("[global]\nindex-url = http://127.0.0.1:1/simple\n")
        for name in [name for name in machine.environment if name.startswith(("PIP_", "UV_", "HF_"))]:
            del machine.environment[name]
        machine.environment |= {"HF_ENDPOINT": hub.url, "NO_PROXY": "*", "PIP_CONFIG_FILE": str(pip)}
        machine.write(ferry_md=f"# The night ferry\n\n{PROSE}\n")
        yield machine


def test_init_without_a_terminal_downloads_nothing_and_says_why(machine: Machine, hub: HubImitation) -> None:
    done = machine.run("init", str(machine.notes))
    assert done.returncode == 0
    why, cost = done.stdout.splitlines()[-2:]
    assert why.startswith("models: small, for 1 document (en) on ")
    assert "slim" in why
    assert cost.startswith("to download: mdbr-leaf-ir ")
    assert "embedding 1 chunk takes about " in cost
    assert " tokens/s" in cost
    assert done.stderr.endswith(f"{KEYWORDS}\n")
    assert machine.config.read_text().endswith("models:\n  preset: small\n")
    assert machine.paths("harbour") == ["ferry.md"]
    assert not hub.downloads


@pytest.mark.stress
def test_yes_downloads_what_search_needs(machine: Machine, hub: HubImitation) -> None:
    answer = machine.json("init", str(machine.notes), "--yes")
    assert answer["collection"]["name"] == "notes"
    assert answer["models"]["preset"] == "small"
    listed = {each["uri"]: each for each in machine.json("models", "list")["models"]}
    assert listed[f"hf:{EMBEDDER}"]["installed"]
    assert listed[f"hf:{RERANKER}"]["installed"]
    # Search does not need the generator of a gigabyte, and this hub does not have it.
    generator = listed[str(PRESETS["small"]["answer"])]
    assert not generator["installed"]
    machine.ok("embed")
    assert [hit["path"] for hit in machine.json("vsearch", "a ship")["hits"]] == ["ferry.md"]

    # Models with random weights cannot read English. Without a measurement, the statement of their authors counts.
    measured = Path(listed[f"hf:{EMBEDDER}"]["path"]).with_name("readability.json")
    wait_until(measured.exists)
    assert machine.json("models", "use", "auto")["preset"] == "small-multilingual"
    measured.unlink()
    # The model is installed now, so a missing hub has no effect.
    hub.status = 503
    again = machine.run("models", "use", "auto")
    assert again.stdout.startswith("models: small, "), again
    assert "its models for search are installed" in again.stdout
    # The preset that the user has chosen stays.
    assert "models:" not in machine.ok("collection", "add", str(machine.folder / "config"), "--name", "second")
    assert "models:" not in machine.run("init", str(machine.folder / "data"), "--no-index").stdout


def test_yes_downloads_what_search_needs_of_a_named_preset(machine: Machine) -> None:
    machine.ok("init", str(machine.notes), "--preset", "small", "--yes")
    listed = {each["uri"]: each["installed"] for each in machine.json("models", "list")["models"]}
    assert listed == {f"hf:{EMBEDDER}": True, f"hf:{RERANKER}": True, str(PRESETS["small"]["answer"]): False}


@pytest.mark.stress
def test_without_a_hub_it_says_so_and_keywords_work(machine: Machine, hub: HubImitation) -> None:
    machine.environment["HF_ENDPOINT"] = "http://127.0.0.1:1"
    done = machine.run("init", str(machine.notes), "--yes")
    assert done.returncode == 0
    assert "The download failed: no connection to 127.0.0.1:1" in done.stderr
    assert "Keyword search works now; `gnoctl models pull embed` downloads the rest" in done.stderr
    # Outside the test, the package index may have the model of the default preset. Here it does not.
    assert "mini-multilingual stays in use; small would be better: run `gnoctl models use auto` again" in done.stderr
    assert "preset" not in machine.config.read_text()
    assert machine.paths("harbour") == ["ferry.md"]
    assert "~91.2 MB" in machine.run("models", "list").stdout
    machine.environment["HF_ENDPOINT"] = hub.url
    machine.ok("models", "use", "auto", "--yes")
    assert machine.config.read_text().endswith("preset: small\n")


def test_the_languages_of_the_folder_decide(machine: Machine) -> None:
    machine.ok("init", str(machine.notes), "--preset", "mini")
    assert machine.config.read_text().endswith("models:\n  preset: mini\n")
    samples = json.loads(replicas.SAMPLES.read_text(encoding="utf-8"))
    machine.write(fähre_md=" ".join(samples["de"]["statements"]))
    machine.quiet()
    chosen = machine.json("models", "use", "auto")
    assert (chosen["preset"], chosen["languages"]) == ("small-multilingual", ["de", "en"])
    assert {"preset": "small", "reason": "languages"} in chosen["better"]
    assert machine.run("init", "--preset", "tiny").returncode == 2


@pytest.mark.parametrize(
    ("reply", "downloads"), [("y", True), pytest.param("n", False, marks=pytest.mark.stress), ("", False)]
)
def test_a_question_at_the_terminal(machine: Machine, hub: HubImitation, reply: str, downloads: bool) -> None:
    machine.ok("init", str(machine.notes), "--preset", "none")
    assert "embedding" not in machine.ok("status")  # keyword search does not wait for models
    command = [sys.executable, "-m", "gnoctl", "models", "use", "auto"]
    with Terminal(command, machine.environment | {"TERM": "xterm", "COLUMNS": "200"}) as terminal:
        terminal.read_until(lambda shown: "now? [y/N] " in shown)
        terminal.type_line(reply)
        assert terminal.finish() == 0
    assert (f"downloaded hf:{EMBEDDER}" in terminal.shown) == downloads
    assert (KEYWORDS in terminal.shown) != downloads
    assert bool(hub.downloads) == downloads
