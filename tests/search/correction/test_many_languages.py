"""Corrections in an index of many languages: words of each language are corrected, and a candidate is analysed in few
languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.search.correction.correctable_words import query_words
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.edits import one_edit
from gnod.search.correction.known_words import Beginnings, KnownWords
from gnod.search.correction.query_correction import Corrected
from tests.small_index import SmallIndex

TEXTS = {
    "cs": "Certifikát serveru vyprší příští měsíc, připravte zálohování databáze.",
    "de": "Die Genehmigung der Behörde steht im Archiv, und der Zeitplan hängt an der Tür.",
    "el": "Το πιστοποιητικό του διακομιστή λήγει τον επόμενο μήνα και θέλει ανανέωση.",
    "en": "The certificate of the server expires next month, so renew it before the backup.",
    "es": "El certificado del servidor caduca pronto y necesita una renovación urgente.",
    "fi": "Palvelimen varmenne vanhenee pian, joten uusiminen kannattaa aloittaa.",
    "fr": "Le certificat du serveur expire bientôt, il faut prévoir son renouvellement.",
    "hi": "सर्वर का प्रमाणपत्र अगले महीने समाप्त होगा और नवीनीकरण आवश्यक है।",
    "hu": "A kiszolgáló tanúsítványa hamarosan lejár, ezért megújítás szükséges.",
    "ru": "Сертификат сервера истекает в следующем месяце, нужно обновление.",
    "tr": "Sunucunun sertifikası gelecek ay sona eriyor, yenileme gerekiyor.",
    "uk": "Сертифікат сервера закінчується наступного місяця, потрібне оновлення.",
}


@pytest.fixture
def corrector(small_index: SmallIndex) -> Corrector:
    for language, text in TEXTS.items():
        small_index.add({f"{language}.md": text}, language=language)
    return Corrector(small_index.database.submit_read)


@pytest.fixture
def correct(corrector: Corrector, small_index: SmallIndex) -> Callable[[str], Corrected]:
    return lambda text: corrector.correct(small_index.reader, text)


@pytest.fixture
def knowledge(corrector: Corrector, small_index: SmallIndex) -> KnownWords:
    return corrector.knowledge(small_index.reader)


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("zálhování databáze", "zálohování databáze"),
        ("Genehmgung Archiv", "genehmigung Archiv"),
        ("Genemigung Archiiv", "genehmigung archiv"),
        ("πιστποιητικό", "πιστοποιητικό"),
        ("certifcate backpu", "certificate backup"),
        ("ofthe certificate", "of the certificate"),
        ("certificateof", "certificate of"),
        ("renvación urgente", "renovación urgente"),
        ("vanhnee palvelimen", "vanhenee palvelimen"),
        ("exire bientôt", "expire bientôt"),
        ("प्रमाणत्र नवीनीकरण", "प्रमाणपत्र नवीनीकरण"),
        ("megújtás szükséges", "megújítás szükséges"),
        ("сетификат обновлние", "сертификат обновление"),
        ("sertifiksı yenileme", "sertifikası yenileme"),
        ("сертифікт оновлення", "сертифікат оновлення"),
    ],
)
def test_an_error_is_corrected_in_its_language(
    correct: Callable[[str], Corrected], written: str, searched: str
) -> None:
    assert correct(written).text == searched


@pytest.mark.parametrize("text", TEXTS.values())
def test_words_that_occur_stay(correct: Callable[[str], Corrected], text: str) -> None:
    assert correct(text).corrections == ()


def test_words_are_seen_with_their_marks(knowledge: KnownWords) -> None:
    written = ["प्रमाणपत्र", "नवीनीकरण", "renovación", "πιστοποιητικό"]
    assert knowledge.surfaces.seen([*written, "प्रमाणपत्", "renovacion"]) == set(written)


def test_a_candidate_is_analysed_in_few_languages(knowledge: KnownWords) -> None:
    analyzers = [Analyzer(language) for language in TEXTS if language not in {"cs", "uk"}]
    for written in ("certifcate", "genehmgung", "сетификат", "प्रमाणत्र"):
        candidates = list(one_edit(written))
        few = knowledge.surfaces.terms(candidates, analyzers)
        every = terms_of_many(candidates, analyzers)
        real = knowledge.vocabulary.known({term for terms in every.values() for term in terms})
        assert real
        assert {text for text in candidates if few[text] & real} == {text for text in candidates if every[text] & real}
        possible = knowledge.surfaces.beginnings.possible(candidates)
        assert sum(len(possible(each.language)) for each in analyzers) < len(candidates) * len(analyzers) / 3


def test_a_language_has_words_that_begin_like_its_own() -> None:
    beginnings = Beginnings({"en": ["renewal", "the"], "de": ["straße", "renn"]}, ["xylophon", "renewals"])

    def languages(word: str) -> list[str]:
        possible = beginnings.possible([word])
        return [each for each in ("en", "de", "fi") if possible(each)]

    assert languages("renewed") == ["en", "fi"]  # the index has no Finnish words, so Finnish may have any word
    assert languages("strasse") == languages("straßen") == ["de", "fi"]
    assert languages("rennen") == ["de", "fi"]
    assert languages("xylophone") == ["en", "de", "fi"]  # known, but in an unknown language
    assert languages("zebra") == []
    assert languages("ze") == ["en", "de", "fi"]


def test_part_of_an_unspaced_run_is_not_a_word() -> None:
    assert [word.text for word in query_words("Obsdianの使い方 の検索Vautl backup")] == ["backup"]
