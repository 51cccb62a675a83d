"""What a model can read: the measurement itself, and its result for a real model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gnod.models import readability
from gnod.models.files import Installed, ModelFiles
from gnod.models.readability import LanguageSample, Readability, Unrelated, Vectors, samples, script_of

INSTALLED = Installed("file:/m.gguf", Path("/m.gguf"), 7, "", 1.0)


def test_the_samples_are_parallel() -> None:
    assert len(samples()) > 80
    for sample in samples().values():
        assert len(sample.statements) == len(sample.questions) == 12
        assert len({*sample.statements, *sample.questions}) == 24


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("hello 世", "LATIN"),
        ("カタカナ漢字ひらがな", "HAN"),
        ("한국어", "HANGUL"),
        ("हिन्दी", "DEVANAGARI"),
        ("?! 12", None),
        ("", None),
    ],
)
def test_the_script_of_most_letters_counts(text: str, script: str | None) -> None:
    assert script_of(text) == script


def measured(reads: set[str]) -> Readability:
    """Measure a model that distinguishes the texts of these languages, and no others."""
    chance = np.random.default_rng(1)

    async def embed(sample: LanguageSample) -> tuple[Vectors, Vectors]:
        language = next(code for code, known in samples().items() if known is sample)
        statements = chance.standard_normal((12, 64)).astype(np.float32)
        statements /= np.linalg.norm(statements, axis=1, keepdims=True)
        questions = statements if language in reads else statements[np.roll(np.arange(12), 5)]
        return questions, statements

    return asyncio.run(readability.measure(INSTALLED, embed))


def test_a_script_can_be_read_if_a_language_in_it_can() -> None:
    found = measured({"en", "ru"})
    assert [language for language in found.languages if found.reads(language)] == ["en", "ru"]
    assert found.languages["en"].separation == 1.0
    assert found.can_read("Bitte nicht stören"), "a language of a script that can be read"
    assert found.can_read_language("uk")
    assert not found.can_read("नमस्ते दुनिया")
    assert not found.can_read_language("hi")
    assert found.can_read("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"), "a script that was not measured is not excluded"
    assert found.can_read_language(None)
    assert found.can_read_language("tlh")
    assert "DEVANAGARI" in readability.unread_scripts(found)


def test_nearness_counts_from_unrelated_texts_of_the_language() -> None:
    found = measured({"en", "ru"})
    query = np.eye(64, dtype=np.float32)[0]
    english = found.unrelated(query, "en")
    assert english
    assert english.mean == pytest.approx(query @ np.frombuffer(found.languages["en"].centre, np.float32))
    assert english.deviation == pytest.approx(0.125, abs=0.05), "of random vectors with 64 dimensions"
    assert english.nearness(english.mean) == 0.0
    assert english.nearness(english.mean + 2 * english.deviation) == pytest.approx(2.0)
    assert found.unrelated(query, "ru") != english
    assert found.unrelated(query, "hi") is None, "it cannot tell texts of this language apart"
    assert found.unrelated(query, "tlh") == found.unrelated(query, None) == english


def test_in_an_index_of_one_field_unrelated_texts_are_nearer() -> None:
    unrelated = Unrelated(0.1, 0.05)
    assert unrelated.within(0.3, 1_000_000).mean == pytest.approx(0.2, abs=0.001)
    assert unrelated.within(0.3, 50).mean == pytest.approx(0.15)
    assert unrelated.within(0.3, 0) == unrelated
    assert unrelated.within(-0.1, 1000) == unrelated, "texts in another language are farther, and no more related"


def test_a_model_that_gives_all_texts_nearly_one_vector_has_a_finite_nearness() -> None:
    assert np.isfinite(Unrelated(0.9, 0.0).nearness(1.0))


def test_it_is_kept_beside_the_file_until_that_changes(tmp_path: Path) -> None:
    path, found = tmp_path / "model" / "readability.json", measured({"en"})
    assert readability.load(path, INSTALLED) is None
    readability.save(path, found)
    assert readability.load(path, INSTALLED) == found
    assert readability.load(path, msgspec.structs.replace(INSTALLED, bytes=8)) is None
    path.write_text("{")
    assert readability.load(path, INSTALLED) is None


@pytest.mark.slow
def test_what_minilm_reads(minilm_onnx: Path, measured_models: Path) -> None:
    files, uri = ModelFiles(measured_models), f"file:{minilm_onnx}"
    installed = files.find(uri)
    assert installed
    found = readability.load(files.readability_for(uri), installed)
    assert found
    assert [language for language in found.languages if found.reads(language)] == ["en"]
    assert found.can_read("Die Kräne stehen still.")
    for text in ("क्रेन कब बंद होती है?", "クレーンはいつ止まりますか", "Когда останавливают кран?", "เครนหยุดเมื่อไหร่"):
        assert not found.can_read(text)
