"""The preset that is chosen for a machine and its documents."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.supply import catalogue, choice
from gnod.models.supply.choice import Host, TextsToEmbed, choose
from gnod.presets import PRESETS

GB = 10**9
ENGLISH = TextsToEmbed(frozenset({"en"}), tokens=100_000)
GERMAN = TextsToEmbed(frozenset({"en", "de"}), tokens=100_000)
LAPTOP = Host(8 * GB, 0, 2)
SERVER = Host(32 * GB, 0, 32)
WORKSTATION = Host(32 * GB, 24 * GB, 8)


@pytest.mark.parametrize(
    ("documents", "host", "preset", "reason"),
    [
        (ENGLISH, LAPTOP, "small", ("slim", "reranking")),
        (GERMAN, LAPTOP, "small-multilingual", ("small", "languages")),
        (TextsToEmbed(), LAPTOP, "small", ("quality", "card")),
        (TextsToEmbed(any_language=True), LAPTOP, "small-multilingual", ("small", "languages")),
        (ENGLISH, WORKSTATION, "quality", None),
        (GERMAN, WORKSTATION, "quality", None),
        (ENGLISH, WORKSTATION._replace(gpu_memory=5 * GB), "balanced", ("quality", "card")),
        (ENGLISH, SERVER, "slim", ("quality", "card")),
        (ENGLISH._replace(tokens=10**9), SERVER, "small", ("slim", "time")),
        (ENGLISH, LAPTOP._replace(memory=GB // 2), "mini", ("small", "memory")),
        # A search does not load the generator.
        (ENGLISH, LAPTOP._replace(memory=GB), "small", None),
        (GERMAN, LAPTOP._replace(memory=GB // 2), "mini-multilingual", None),
        # Basque is not among granite-embedding's languages, and e5-small could not read it.
        (TextsToEmbed(frozenset({"eu"})), SERVER, "slim", ("quality", "card")),
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


def test_measured_languages_override_what_authors_state() -> None:
    granite = catalogue.embedder("small-multilingual")
    swahili = TextsToEmbed(frozenset({"sw"}))
    assert choose(swahili, LAPTOP).preset == "small-multilingual"
    assert choose(swahili, LAPTOP, {granite: {"en", "de"}}).preset == "mini-multilingual"


def test_rare_languages_do_not_count() -> None:
    assert choice.prevalent({"en": 1000, "de": 3, "": 500}) == {"en"}
    assert choice.prevalent({"en": 2, "de": 1}) == {"en", "de"}
    assert choice.prevalent({}) == set()


SIZES = st.integers(0, 16 * GB)
CORES = st.integers(1, 64)
LANGUAGES = st.sets(st.sampled_from(["en", "de", "zh", "sw", "eu", "dv", "la", "yi"]), max_size=3)
SCRIPTS = st.sets(st.sampled_from(["LATIN", "HAN", "HEBREW", "THAANA"]), max_size=2)
DOCUMENTS = st.builds(
    lambda languages, scripts, tokens, any_language: TextsToEmbed(
        frozenset(languages), frozenset(scripts), tokens, any_language
    ),
    *(LANGUAGES, SCRIPTS, st.integers(0, 10**9), st.booleans()),
)


@given(DOCUMENTS, CORES, st.tuples(SIZES, SIZES), st.tuples(SIZES, SIZES))
def test_more_memory_never_gives_a_worse_preset(
    documents: TextsToEmbed, cores: int, memory: tuple[int, int], gpu_memory: tuple[int, int]
) -> None:
    def worth(pair: Sequence[int]) -> int:
        chosen = choose(documents, Host(pair[0], pair[1], cores)).preset
        return -catalogue.ORDER.index(chosen) if chosen else -len(catalogue.ORDER)

    less, more = (min(memory), min(gpu_memory)), (max(memory), max(gpu_memory))
    assert worth(more) >= worth(less)


@given(DOCUMENTS, SIZES, SIZES, CORES)
def test_a_preset_that_cannot_read_the_documents_is_never_chosen(
    documents: TextsToEmbed, memory: int, gpu_memory: int, cores: int
) -> None:
    chosen = choose(documents, Host(memory, gpu_memory, cores))
    readable = [p for p in PRESETS if choice.reads(catalogue.MODELS[catalogue.embedder(p)].languages, documents)]
    assert (chosen.preset in readable) if readable else chosen.preset is None
    assert chosen.preset not in [better for better, _ in chosen.rejected]


def test_the_catalogue_knows_every_model_of_the_presets() -> None:
    assert sorted(catalogue.ORDER) == sorted(PRESETS)
    assert {uri for models in PRESETS.values() for uri in models.values() if uri} == set(catalogue.MODELS)
    for uri, known in catalogue.MODELS.items():
        pin = catalogue.pin_of(uri)
        # The revision of a repository is enough, because it determines the files.
        assert pin.hashes or known.revision
        assert bool(known.revision) == uri.startswith("hf:")
        if uri.endswith(".gguf"):
            assert list(pin.hashes) == [uri.rpartition("/")[2]]
    for preset in PRESETS:
        known = catalogue.MODELS[catalogue.embedder(preset)]
        assert known.languages
        assert known.per_core
        assert known.dimensions
