"""Search by meaning with real processes and a real model: from a file to its vectors, and the possible failures."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.machine import Machine, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NOTES = {
    "cat_md": "# Cats\n\nThe kitten sleeps on the sofa all day.\n",
    "deploy_md": "# Deployment\n\nPush the release to production with a blue-green rollout.\n",
    "bread_md": "# Bread\n\nKnead flour, water and yeast; bake the loaf for an hour.\n",
}


def use(machine: Machine, **models: Path) -> None:
    """Write a config whose collections are embedded by these models; `notes` is the folder of that name."""
    lines = ["collections:"]
    for name, model in models.items():
        folder = machine.folder / name
        folder.mkdir(exist_ok=True)
        lines.append(f'  - {{name: {name}, path: {folder}, models: {{embed: "file:{model}"}}}}')
    machine.config.parent.mkdir(exist_ok=True)
    machine.config.write_text("\n".join(lines) + "\n")


@pytest.fixture
def mini(machine: Machine, minilm_onnx: Path) -> Machine:
    use(machine, notes=minilm_onnx)
    return machine


def found(machine: Machine, *arguments: str) -> list[str]:
    return [hit["path"] for hit in machine.json("vsearch", *arguments)["hits"]]


def status(machine: Machine) -> dict[str, Any]:
    result: dict[str, Any] = machine.json("status")
    return result


def text_of(paragraphs: int, seed: int, headings: int = 0) -> str:
    """Return a document of paragraphs of about 400 characters, with a heading before every `headings` of them."""
    choose = random.Random(seed)
    words = ["harbour", "crane", "vessel", "storm", "pilot", "cargo", "anchor", "ledger", "signal", "engine", "rope"]
    parts = []
    for number in range(paragraphs):
        if headings and number % headings == 0:
            parts.append(f"## Part {number}")
        sentence = " ".join(choose.choice(words) for _ in range(62))
        parts.append(f"{sentence.capitalize()} number {number}.")
    return "# Long\n\n" + "\n\n".join(parts) + "\n"


def embedded_in_log(machine: Machine) -> list[int]:
    """Return the number of embedded chunks of each finished round."""
    log = next(machine.folder.rglob("*.log"))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return [event["chunks"] for event in events if event.get("event", event.get("message")) == "embedding.done"]


def test_from_files_to_an_answer_by_meaning(mini: Machine) -> None:
    mini.ok("daemon", "start")
    mini.write(**NOTES)
    wait_until(lambda: status(mini)["collections"][0]["embedded"] == 3)  # by itself
    assert "all chunks have vectors" in mini.ok("embed")
    assert found(mini, "pets that rest")[0] == "cat.md"
    assert found(mini, "how do I ship a new version")[0] == "deploy.md"
    assert found(mini, "pets that rest", "--path", "bread") == ["bread.md"], "filters are exact"
    answer = mini.json("vsearch", "pets that rest", "--explain")
    assert answer["mode"] == "vector"
    assert answer["freshness"]["current"]
    assert [stage["stage"] for stage in answer["explain"]["stages"]] == ["embed", "knn", "passages"]
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert "sofa" in answer["hits"][0]["snippet"]
    (notes,) = status(mini)["collections"]
    assert (notes["chunks"], notes["embedded"], notes["next_model"]) == (3, 3, None)
    worker = status(mini)["inference"]
    assert worker["state"] == "idle"
    assert worker["resident_bytes"] > 0
    assert "100 %" in mini.ok("status")


def test_saved_and_deleted_files_in_vector_search(mini: Machine) -> None:
    mini.write(**NOTES)
    mini.ok("index")
    mini.ok("embed")
    mini.write(boat_md="# Boats\n\nThe sailing yacht leaves the marina at dawn.\n")
    assert found(mini, "ship at sea", "--fresh")[0] == "boat.md"
    mini.write(boat_md="# Tax\n\nThe tax return is due in May.\n")
    assert found(mini, "money for the state", "--fresh")[0] == "boat.md"
    assert mini.json("vsearch", "ship at sea", "-n", "1")["hits"][0]["score"] < 0.8
    (mini.notes / "boat.md").unlink()
    mini.ok("index")
    assert "boat.md" not in found(mini, "money for the state")
    mini.ok("cleanup")
    assert "boat.md" not in found(mini, "money for the state")
    mini.ok("daemon", "restart")
    assert sorted(found(mini, "money for the state")) == ["bread.md", "cat.md", "deploy.md"]
    with sqlite3.connect(f"file:{mini.database}?mode=ro", uri=True) as database:
        assert database.execute("SELECT count(*) FROM content_vectors").fetchone() == (3,)


@pytest.mark.parametrize(("length", "headings"), [(40, 0), pytest.param(160, 12, marks=pytest.mark.stress)])
def test_an_edit_embeds_only_the_changed_chunks(mini: Machine, length: int, headings: int) -> None:
    text = text_of(length, seed=1, headings=headings)
    mini.write(long_md=text)
    mini.ok("index")
    mini.ok("embed")
    chunks = status(mini)["collections"][0]["chunks"]
    assert chunks >= length // 8
    paragraphs = text.split("\n\n")
    paragraphs[length // 2] = "This paragraph is about something else entirely, and it is rather short."
    mini.write(long_md="\n\n".join(paragraphs))
    mini.ok("index")
    mini.ok("embed")
    assert status(mini)["collections"][0]["embedded"] == status(mini)["collections"][0]["chunks"]
    assert 1 <= embedded_in_log(mini)[-1] <= 3
    assert found(mini, "something else entirely, rather short") == ["long.md"]


def _has_another_worker(machine: Machine, pid: int) -> bool:
    return status(machine)["inference"]["pid"] not in (None, pid)


@pytest.mark.stress
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_killing_the_worker_loses_nothing(mini: Machine, number: signal.Signals) -> None:
    mini.write(**{f"doc{n}_md": text_of(24, seed=n) for n in range(12)})  # takes some seconds
    mini.ok("index")
    wait_until(lambda: status(mini)["embedding"]["state"] == "embedding" and status(mini)["embedding"]["done"])
    for _ in range(3):
        before = status(mini)
        if before["embedding"]["state"] != "embedding":
            break
        os.kill(pid := before["inference"]["pid"], number)
        wait_until(partial(_has_another_worker, mini, pid))
        assert found(mini, "ropes and lanterns")
    mini.ok("embed")
    after = status(mini)
    (notes,) = after["collections"]
    assert notes["embedded"] == notes["chunks"] > 30
    assert notes["unembeddable"] == 0
    assert after["inference"]["crashes"] >= 1
    assert number.name in after["inference"]["last_crash"]
    assert number.name in mini.ok("status")


@pytest.mark.stress
def test_pause_holds_over_a_restart(mini: Machine) -> None:
    mini.write(**NOTES)
    mini.ok("index")
    mini.ok("embed")
    assert "paused" in mini.ok("pause")
    mini.write(boat_md="# Boats\n\nThe sailing yacht leaves the marina at dawn.\n")
    mini.ok("index")
    mini.ok("daemon", "restart")
    paused = mini.run("embed")
    assert paused.returncode == 2
    assert "gnoctl resume" in paused.stderr
    assert status(mini)["embedding"]["state"] == "paused"
    answer = mini.json("vsearch", "ship at sea")
    assert "boat.md" not in [hit["path"] for hit in answer["hits"]]
    assert (answer["freshness"]["current"], answer["freshness"]["unembedded"]) == (False, 1)
    assert "1 chunk has no vector yet" in mini.ok("vsearch", "ship at sea", "--loose")
    assert mini.json("search", "yacht")["freshness"]["current"], "keywords do not need vectors"
    mini.ok("resume")
    mini.ok("embed")
    assert found(mini, "ship at sea")[0] == "boat.md"


@pytest.mark.stress
def test_another_model_embeds_while_the_old_one_answers(mini: Machine, minilm_onnx: Path, e5_onnx: Path) -> None:
    mini.write(**NOTES)
    mini.ok("index")
    mini.ok("embed")
    mini.ok("pause")
    use(mini, notes=e5_onnx)
    (notes,) = status(mini)["collections"]
    assert (notes["model"], notes["next_model"]) == (f"file:{minilm_onnx}", f"file:{e5_onnx}")
    assert found(mini, "pets that rest")[0] == "cat.md"
    assert "serves searches until" in mini.ok("status")
    mini.ok("resume")
    mini.ok("embed")
    (notes,) = status(mini)["collections"]
    assert (notes["model"], notes["next_model"], notes["embedded"]) == (f"file:{e5_onnx}", None, 3)
    assert found(mini, "eine schlafende Katze")[0] == "cat.md", "this model knows German"
    with sqlite3.connect(f"file:{mini.database}?mode=ro", uri=True) as database:
        assert database.execute("SELECT count(*) FROM content_vectors").fetchone() == (3,)
        assert database.execute("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'vec_????????'").fetchone() == (0,)


def test_similar(mini: Machine) -> None:
    mini.write(**NOTES, tiger_md="# Tigers\n\nThe big cat rests in the shade.\n")
    mini.write(copy_md=NOTES["cat_md"])
    mini.ok("index")
    mini.ok("embed")
    hits = mini.json("similar", "notes/cat.md")
    assert hits["mode"] == "similar"
    paths = [hit["path"] for hit in hits["hits"]]
    assert paths[0] == "tiger.md"
    assert not {"cat.md", "copy.md"} & set(paths)
    assert "Tigers" in mini.ok("similar", "notes/cat.md")
    assert {reason["kind"] for hit in hits["hits"] for reason in hit["reasons"]} == {"similar"}
    near = mini.json("similar", "notes/cat.md", "--by-vectors")["hits"]
    assert sorted(hit["path"] for hit in near) == sorted(paths)
    assert [hit["score"] for hit in near] == sorted((hit["score"] for hit in near), reverse=True)
    assert "reasons" not in near[0]
    assert mini.run("similar", "notes/none.md").returncode == 2
    only = mini.json("similar", "notes/cat.md", "--where", "-path:tiger")["hits"]
    assert [hit["path"] for hit in only] == paths[1:]
    assert found(mini, "a big cat path:tiger") == ["tiger.md"]
    assert found(mini, "a big cat -path:tiger") == [path for path in found(mini, "a big cat") if path != "tiger.md"]
    assert "`where` takes only fields" in mini.run("similar", "notes/cat.md", "--where", "a dog").stderr
    misspelt = mini.json("vsearch", "a big cat in the shdae")
    assert misspelt["corrections"] == [{"written": "shdae", "searched": "shade"}]
    assert misspelt["hits"][0]["path"] == "tiger.md"
    assert mini.json("vsearch", "a big cat in the shdae", "--exact")["corrections"] == []
    assert found(mini, 'a big "cat -in (the shdae')[0] == "tiger.md", "operators of keyword search are text here"


def test_a_model_that_is_not_installed(machine: Machine) -> None:
    machine.write(**NOTES)
    machine.ok("init", str(machine.notes))
    refused = machine.run("vsearch", "pets")
    assert refused.returncode == 2
    assert "no embedding model is configured: `gnoctl models use auto` chooses one" in refused.stderr
    machine.ok("models", "use", "slim")
    refused = machine.run("vsearch", "pets")
    assert refused.returncode == 2
    assert "gnoctl models pull" in refused.stderr
    followed = machine.run("embed")
    assert followed.returncode == 2
    assert "gnoctl models pull" in followed.stderr
    assert "gnoctl models pull" in machine.ok("status")
    assert machine.paths("kitten") == ["cat.md"], "keyword search continues"


def test_a_fresh_search_does_not_wait_for_what_comes_after_it(mini: Machine) -> None:
    mini.write(first_md="# First\n\nThe lighthouse keeper counts ships.\n")
    mini.ok("index")
    is_over = threading.Event()

    def write_more_than_is_embedded() -> None:
        for number in range(600):
            if is_over.wait(0.2):
                return
            # The search waits for the first files. Even a busy machine has embedded them long before the last file.
            paragraphs = 8 if number < 2 else 40
            texts = [
                f"Paragraph {number}.{k}: " + f"tide {number * k} and harbour {k}. " * 40 for k in range(paragraphs)
            ]
            mini.write(**{f"flood{number}_md": "\n\n".join(texts)})

    writer = threading.Thread(target=write_more_than_is_embedded)
    writer.start()
    try:
        wait_until((mini.notes / "flood1.md").exists)
        mini.call("search.vector", query="who watches the sea?", fresh=True)
        assert writer.is_alive()
    finally:
        is_over.set()
        writer.join()
