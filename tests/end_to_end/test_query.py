"""`gnoctl query` with real processes: by words, by meaning and by both; with missing parts, and with failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine import Machine, temporary_machine, wait_until
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOTES = {
    "cat_md": "---\ntags: [animals, indoors]\ndate: 2026-03-01\n---\n# Cats\n\n"
    "The kitten sleeps on the sofa all day.\n",
    "tiger_md": "---\ntags: [animals]\ndate: 2020-03-01\n---\n# Tigers\n\nThe big cat rests in the shade of a tree.\n",
    "deploy_md": "# Deployment\n\nPush the release to production with a blue-green rollout.\n",
    "ops__valve_md": "# Boiler\n\nThe safety valve opens at 12 bar; its number is E4711.\n",
    "bread_md": "# Bread\n\nKnead flour, water and yeast; bake the loaf for an hour.\n",
    "boat_md": "# Boats\n\nThe sailing yacht leaves the marina at dawn.\n",
}
# On a busy machine, the model may need more than the usual time.
UNHURRIED = ("--budget", "60")
HIT_FIELDS = {"rank", "score", "docid", "uri", "collection", "path", "title", "line", "end_line", "snippet", "explain"}


def use(machine: Machine, **models: Path) -> None:
    """Write a config with these models and two collections, `notes` and `german`."""
    german = machine.folder / "german"
    german.mkdir(exist_ok=True)
    machine.configure(german, **models)


@pytest.fixture
def ranker(short_tmp: Path) -> Path:
    return CrossEncoder(SEED).write(short_tmp / "tiny.gguf")


@pytest.fixture(scope="module")
def mini(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    """A machine with embedded notes, for tests that change nothing."""
    with temporary_machine() as machine:
        machine.place(measured_models)
        yield embedded(machine, minilm_onnx)


@pytest.fixture
def own(machine: Machine, minilm_onnx: Path) -> Machine:
    """The same machine for one test, which may change it."""
    return embedded(machine, minilm_onnx)


def embedded(machine: Machine, minilm_onnx: Path) -> Machine:
    use(machine, embed=minilm_onnx)
    machine.write(**NOTES)
    (machine.folder / "german" / "kran.md").write_text(
        "# Turmdrehkran\n\nDer Turmdrehkran muss bei starkem Wind stillgelegt werden, sonst kippt er auf die Straße.\n"
    )
    (machine.folder / "german" / "brot.md").write_text(
        "# Brot\n\nMehl und heißes Wasser kneten und eine Stunde backen.\n"
    )
    machine.ok("index")
    machine.ok("embed")
    return machine


def found(machine: Machine, *arguments: str) -> list[str]:
    return [hit["path"] for hit in machine.json("query", *UNHURRIED, *arguments)["hits"]]


def stages(machine: Machine, *arguments: str) -> dict[str, dict[str, Any]]:
    answer = machine.json("query", *arguments, "--explain")
    return {stage["stage"]: stage for stage in answer["explain"]["stages"]}


def test_by_word_and_by_meaning(mini: Machine) -> None:
    assert found(mini, "E4711")[0] == "ops/valve.md"
    assert found(mini, "lex: E4711") == ["ops/valve.md"]
    assert set(found(mini, "pets that rest")[:2]) == {"cat.md", "tiger.md"}
    assert found(mini, "how do I ship a new version")[0] == "deploy.md"
    assert found(mini, "making a loaf of sourdough", "--no-expand", "--no-rerank")[0] == "bread.md"
    shown = mini.ok("query", *UNHURRIED, "pets", "that", "rest", "-n", "2")
    assert "notes/cat.md:" in shown
    assert re.search(r"the best 2 of \d+ documents; \d+ documents are only loosely similar", shown)


@pytest.mark.parametrize("command", [("query", *UNHURRIED), ("vsearch",)], ids=lambda command: command[0])
def test_a_list_says_where_only_loosely_similar_documents_begin(mini: Machine, command: tuple[str, ...]) -> None:
    hits = mini.json(*command, "sofa")["hits"]
    assert [hit["path"] for hit in hits if not hit["loose"]] == ["cat.md"]
    assert len(hits) > 4, "programs also get the others, marked"
    shown = mini.ok(*command, "sofa")
    assert "notes/cat.md" in shown
    assert "notes/bread.md" not in shown
    assert re.search(r"[1-9] documents are only loosely similar", shown)
    assert "notes/bread.md" in mini.ok(*command, "sofa", "--loose", "-n", "20").partition("only loosely similar:")[2]
    assert mini.ok(*command, "sofa", "--paths").splitlines() == [str(mini.notes / "cat.md")]
    nothing = mini.run(*command, "parliamentary elections in Uruguay")
    assert (nothing.stdout, nothing.returncode) == ("", 1)
    assert re.search(r"No results for .*: \d documents are only loosely similar", nothing.stderr)


def test_filters_also_apply_to_search_by_meaning(mini: Machine) -> None:
    query = "pets that rest"
    assert sorted(found(mini, query, "-c", "german")) == ["brot.md", "kran.md"]
    assert sorted(found(mini, query, "--tag", "animals")) == ["cat.md", "tiger.md"]
    assert found(mini, query, "--tag", "animals,indoors") == ["cat.md"]
    assert found(mini, query, "--path", "ops/") == ["ops/valve.md"]
    assert "tiger.md" not in found(mini, query, "--since", "2021-01-01")
    assert found(mini, query, "--until", "2021-01-01") == ["tiger.md"]
    assert "cat.md" not in found(mini, query, "--", "-kitten")
    assert found(mini, '"big cat" pets') == ["tiger.md"]
    assert mini.run("query", query, "-c", "nowhere").returncode == 2


def test_what_programs_get(mini: Machine) -> None:
    answer = mini.json("query", *UNHURRIED, "pets that rest", "--explain")
    assert (answer["mode"], answer["query"], answer["total"]) == ("hybrid", "pets that rest", 8)
    assert answer["freshness"]["current"]
    assert [hit["rank"] for hit in answer["hits"]] == list(range(1, 9))
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    for hit in answer["hits"]:
        assert hit.keys() >= HIT_FIELDS
        assert hit["explain"].keys() >= {"fused", "fused_rank", "similarity", "vector"}
    assert {"sofa", "shade"} & set(answer["hits"][0]["snippet"].replace(".", "").split())
    names = [stage["stage"] for stage in answer["explain"]["stages"]]
    assert names[-1] == "passages"
    assert set(names) == {"bm25", "expand", "embed", "knn", "fuse", "rerank", "passages"}
    assert all({"stage", "ran", "ms"} <= stage.keys() for stage in answer["explain"]["stages"])
    assert mini.json("query", "pets that rest")["explain"] is None


def test_a_budget_of_nothing_answers_by_words(mini: Machine) -> None:
    assert [hit["path"] for hit in mini.json("query", "kitten", "--budget", "0")["hits"]] == ["cat.md"]
    said = stages(mini, "kitten", "--budget", "0")
    assert not said["embed"]["ran"]
    assert "time" in said["embed"]["why"]
    assert "keyword search only: the embedding model did not answer" in mini.ok("query", "kitten", "--budget", "0")


@pytest.mark.stress
def test_reading_again(own: Machine, minilm_onnx: Path, ranker: Path) -> None:
    use(own, embed=minilm_onnx, rerank=ranker)
    wait_until(lambda: "index.yml" not in stages(own, "kitten", "--budget", "0")["rerank"].get("why", ""))
    plain = own.json("query", "number E4711", "--no-rerank")["hits"]
    assert plain[0]["path"] == "ops/valve.md"
    said = stages(own, "number E4711", "--budget", "60")
    assert said["rerank"]["ran"]
    assert said["rerank"]["documents"] == 8
    assert said["rerank"]["floor"]
    hits = own.json("query", "number E4711", "--budget", "60", "--explain")["hits"]
    (valve,) = (hit for hit in hits if hit["path"] == "ops/valve.md")
    assert valve["explain"]["floor"] == pytest.approx(0.30)
    hits = own.json("query", "number E4711", "--budget", "60", "--explain", "--no-floor")["hits"]
    assert {hit["explain"]["floor"] for hit in hits} == {0.0}
    assert stages(own, "number E4711", "--budget", "60", "--candidates", "4")["rerank"]["documents"] == 4
    assert stages(own, "number E4711", "--no-rerank")["rerank"]["why"] == "turned off"


def test_without_any_model(machine: Machine) -> None:
    use(machine)
    machine.write(**NOTES)
    machine.ok("index")
    assert found(machine, "kitten") == ["cat.md"]
    said = stages(machine, "kitten")
    assert not any(said[name]["ran"] for name in ("embed", "expand", "knn", "rerank"))
    assert all(said[name]["why"] for name in ("embed", "expand", "knn", "rerank"))
    assert "models.rerank" in said["rerank"]["why"]
    shown = machine.ok("query", "kitten", "--explain")
    assert "kitten" in shown
    assert "keyword search only" not in shown, "a config without a model is valid"
    assert machine.run("query", "xqzzy").stderr.startswith("No results for xqzzy")


def test_what_is_not_embedded_yet_is_found_by_its_words(own: Machine) -> None:
    own.ok("pause")
    own.write(lemon_md="# Lemons\n\nSquash the lemon with a fork.\n")
    own.ok("index")
    answer = own.json("query", *UNHURRIED, "squash a lemon")
    assert answer["hits"][0]["path"] == "lemon.md"
    assert answer["freshness"]["unembedded"] == 1
    assert "1 chunk has no vector yet" in own.ok("query", *UNHURRIED, "squash a lemon")
    assert set(found(own, "pets that rest")[:2]) == {"cat.md", "tiger.md"}, "the others are unchanged"
