"""Which preset is chosen for which machine and documents."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models import uris
from gnod.models.supply import catalogue, choice
from gnod.models.supply.choice import Host, PresetChoice, TextsToEmbed, choose
from gnod.models.supply.fetch.wheel import KNOWN
from gnod.models.supply.speed import shapes
from gnod.models.uris import WheelFile
from gnod.presets import PRESETS

GB = 10**9
ENGLISH = TextsToEmbed(frozenset({"en"}), tokens=100_000)
GERMAN = TextsToEmbed(frozenset({"en", "de"}), tokens=100_000)
SLOW = dict.fromkeys((shapes.MINILM, shapes.E5_SMALL_Q4, shapes.GRANITE_97M), 3000.0) | {
    shapes.BGE_M3: 150.0,
    shapes.QWEN3_600M: 80.0,
}
FAST = {shape: 100 * speed for shape, speed in SLOW.items()}
LAPTOP = Host(8 * GB, 0, SLOW)
WORKSTATION = Host(32 * GB, 24 * GB, FAST)
WHEELS = [uri for uri in catalogue.MODELS if uri.startswith("pypi:")]


@pytest.mark.parametrize(
    ("documents", "host", "preset", "reason"),
    [
        (ENGLISH, LAPTOP, "small", ("slim", "reranking")),
        (GERMAN, LAPTOP, "small-multilingual", ("small", "languages")),
        (TextsToEmbed(), LAPTOP, "small", ("quality", "card")),
        (TextsToEmbed(any_language=True), LAPTOP, "small-multilingual", ("small", "languages")),
        (ENGLISH, WORKSTATION, "quality", None),
        (GERMAN, WORKSTATION, "quality", None),
        (ENGLISH, WORKSTATION._replace(gpu_memory=4 * GB), "balanced", ("quality", "card")),
        (ENGLISH, WORKSTATION._replace(gpu_memory=0), "slim", ("quality", "card")),
        (ENGLISH._replace(tokens=10**9), WORKSTATION._replace(gpu_memory=0), "small", ("slim", "time")),
        (ENGLISH, LAPTOP._replace(memory=GB), "mini-multilingual", ("small", "memory")),
        (ENGLISH, LAPTOP._replace(memory=460 * 10**6), "mini", None),
        (GERMAN, LAPTOP._replace(memory=GB // 2), "mini-multilingual", None),
        # What cannot be measured is not guessed: only small models are fast enough anyhow.
        (ENGLISH, LAPTOP._replace(tokens_per_s={}), "small", ("slim", "unmeasured")),
        (
            ENGLISH,
            LAPTOP._replace(tokens_per_s={}, too_slow={shapes.QWEN3_600M, shapes.BGE_M3}),
            "small",
            ("slim", "reranking"),
        ),
        # Basque is not among the languages of granite-embedding, nor was it read by e5-small.
        (TextsToEmbed(frozenset({"eu"})), WORKSTATION._replace(gpu_memory=0), "slim", ("quality", "card")),
        (TextsToEmbed(frozenset({"eu"})), LAPTOP, "multilingual", None),
        (TextsToEmbed(frozenset({"dv"})), WORKSTATION, None, ("quality", "languages")),
        (TextsToEmbed(scripts=frozenset({"LATIN"})), LAPTOP, "small", None),
        (TextsToEmbed(scripts=frozenset({"HEBREW"})), LAPTOP, "small-multilingual", None),
        (TextsToEmbed(scripts=frozenset({"THAANA"})), LAPTOP, None, None),
    ],
)
def test_the_choice(documents: TextsToEmbed, host: Host, preset: str | None, reason: tuple[str, str] | None) -> None:
    chosen = choose(documents, host)
    assert chosen.preset == preset
    assert reason is None or reason in chosen.rejected


def test_an_installed_model_comes_before_a_download_of_the_same_grade() -> None:
    assert catalogue.GRADES["small"] == catalogue.GRADES["multilingual"]
    host = Host(8 * GB, 0, FAST | {shapes.QWEN3_600M: 1.0})
    assert choose(ENGLISH, host).preset == "small"
    assert choose(ENGLISH, host, installed=[catalogue.embedder("multilingual")]).preset == "multilingual"
    # An installed model of a lower grade does not.
    assert choose(ENGLISH, host, installed=[catalogue.embedder("mini")]).preset == "small"


def test_what_can_be_used_now_comes_first() -> None:
    only_wheels = choose(ENGLISH, LAPTOP, reachable=WHEELS)
    assert only_wheels.preset == "mini-multilingual"
    assert ("small", "download") in only_wheels.rejected
    # Without any network: an installed one, else the best, which can be downloaded later.
    assert choose(ENGLISH, LAPTOP, reachable=[], installed=[catalogue.embedder("mini")]).preset == "mini"
    assert choose(ENGLISH, LAPTOP, reachable=[]).preset == "small"


def test_measured_languages_override_what_authors_state() -> None:
    granite = catalogue.embedder("small-multilingual")
    swahili = TextsToEmbed(frozenset({"sw"}))
    assert choose(swahili, LAPTOP).preset == "small-multilingual"
    assert choose(swahili, LAPTOP, languages={granite: {"en", "de"}}).preset == "mini-multilingual"


def test_rare_languages_do_not_count() -> None:
    assert choice.prevalent({"en": 1000, "de": 3, "": 500}) == {"en"}
    assert choice.prevalent({"en": 2, "de": 1}) == {"en", "de"}
    assert choice.prevalent({}) == set()


SIZES = st.integers(0, 16 * GB)
URIS = st.sets(st.sampled_from(sorted(catalogue.MODELS)))
SPEEDS = st.dictionaries(st.sampled_from(sorted(SLOW, key=str)), st.floats(1, 1e5))
LANGUAGES = st.sets(st.sampled_from(["en", "de", "zh", "sw", "eu", "dv", "la", "yi"]), max_size=3)
SCRIPTS = st.sets(st.sampled_from(["LATIN", "HAN", "HEBREW", "THAANA"]), max_size=2)
DOCUMENTS = st.builds(
    lambda languages, scripts, tokens, any_language: TextsToEmbed(
        frozenset(languages), frozenset(scripts), tokens, any_language
    ),
    *(LANGUAGES, SCRIPTS, st.integers(0, 10**9), st.booleans()),
)


@given(DOCUMENTS, SPEEDS, st.tuples(SIZES, SIZES), st.tuples(SIZES, SIZES), URIS, st.none() | URIS)
def test_more_memory_never_gives_a_worse_preset(
    documents: TextsToEmbed,
    speeds: dict[shapes.Shape, float],
    memory: tuple[int, int],
    gpu_memory: tuple[int, int],
    installed: set[str],
    reachable: set[str] | None,
) -> None:
    def worth(pair: Sequence[int]) -> tuple[bool, int]:
        chosen = choose(documents, Host(pair[0], pair[1], speeds), installed=installed, reachable=reachable)
        return _worth(chosen, installed, reachable)

    less, more = (min(memory), min(gpu_memory)), (max(memory), max(gpu_memory))
    assert worth(more) >= worth(less)


def _worth(chosen: PresetChoice, installed: set[str], reachable: set[str] | None) -> tuple[bool, int]:
    """Return how good a choice is: one that can be used now is better, then its grade counts."""
    if chosen.preset is None:
        return False, -1
    embedder = catalogue.embedder(chosen.preset)
    return reachable is None or embedder in reachable | installed, catalogue.GRADES[chosen.preset]


@given(DOCUMENTS, SIZES, SIZES, SPEEDS, URIS, st.none() | URIS)
def test_a_preset_that_cannot_read_the_documents_is_never_chosen(
    documents: TextsToEmbed,
    memory: int,
    gpu_memory: int,
    speeds: dict[shapes.Shape, float],
    installed: set[str],
    reachable: set[str] | None,
) -> None:
    chosen = choose(documents, Host(memory, gpu_memory, speeds), installed=installed, reachable=reachable)
    readable = [p for p in PRESETS if choice.reads(catalogue.MODELS[catalogue.embedder(p)].languages, documents)]
    assert (chosen.preset in readable) if readable else chosen.preset is None
    assert all(
        catalogue.GRADES[better] > catalogue.GRADES[chosen.preset] for better, _ in chosen.rejected if chosen.preset
    )


def test_the_catalogue_knows_every_model_of_the_presets() -> None:
    assert set(catalogue.GRADES) == set(PRESETS)
    assert {uri for models in PRESETS.values() for uri in models.values() if uri} == set(catalogue.MODELS)
    for uri, known in catalogue.MODELS.items():
        parsed = uris.parse(uri)
        if isinstance(parsed, WheelFile):
            assert known.bytes == pytest.approx(KNOWN[parsed.package, parsed.version].bytes, rel=0.01)
    for preset in PRESETS:
        assert catalogue.shape_of(preset)
        assert catalogue.MODELS[catalogue.embedder(preset)].languages
