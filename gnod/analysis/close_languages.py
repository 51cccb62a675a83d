"""Tell pairs of close languages apart by words that only one of them has. Pure.

Bosnian and Croatian, and Indonesian and Malay, share most of their words, and Hindi and Marathi their letters, so that
the statistics of their letters are nearly the same. Names of months, words of science and function words differ.
"""

from __future__ import annotations

# Beginnings of words by language. An underscore ends a whole word.
_WORDS = {
    "bs": """april august avgust decembar evrop fabri fajl februar hemij hiljad histori hljeb
        izvještaj januar juni juli kahv ko_ lahk maj_ mart_ muzi nauk neko_ niko_ novembar odbran oktobar opšt
        ostrv porodi privred računar saradn sedmic septembar šta_ svako_ tačk tačn takođe_ tokom učestv univerzit
        uprkos vazduh voz_ vozov""",
    "hr": """europ glazb gospodar izvješć juče kolovoz kruh lipanj lipnj listopad netko_ nitko_ obitelj ožuj otok
        povijes pogrešk pošalj prosin računal rujan rujn siječ srpanj srpnj što_ studen surad sustav svatko_ sveučil
        svibanj svibnj tisuć tjed tijekom tko_ točk točn travanj travnj tvornic tvrtk unatoč veljač vlak zaslon znanost
        zrak""",
    "id": """agustus aktivitas bahwa bisa butuh coba desember inggris italia jepang juli_ juni_ kamu_
        kantor karena kemarin mobil_ musim nomor prancis rabu_ saat_ senin spanyol tipe uang""",
    "ms": """ahad_ bahawa boleh cuba disember itali_ inggeris isnin jepun julai jun_ kerana kereta
        nombor ogos pejabat perancis sahaja semalam sepanyol wang""",
    "hi": """का_ की_ के_ को_ से_ में_ है_ हैं_ था_ थी_ थे_ और_ पर_ यह_ वह_ नहीं_ क्या_ कौन_ कब_ क्यों_ कैसे_ किस करना करने लिए_""",
    "mr": """आहे आणि मध्ये_ होत नाही नाहीत_ काय_ कोण कधी_ कसे_ कसा_ कशी_ किंवा_ हा_ हे_ ते_ ती_ केले करण्या साठी_""",
}
_OTHER = {"bs": "hr", "hr": "bs", "id": "ms", "ms": "id", "hi": "mr", "mr": "hi"}
_BEGINNINGS = {language: tuple(words.split()) for language, words in _WORDS.items()}
# Characters that may be next to a word.
_PUNCTUATION = ".,;:!?()[]\"'“”„‘’«»–—…।"


def told_apart(sample: str, language: str) -> str:
    """Return the language itself, or the close one if the sample has more of its words.

    >>> told_apart("Ko je bio na univerzitetu u januaru?", "hr")
    'bs'
    """
    other = _OTHER.get(language)
    if other is None:
        return language
    words = [word.strip(_PUNCTUATION) + "_" for word in sample.lower().split()]
    here, there = (sum(word.startswith(_BEGINNINGS[each]) for word in words) for each in (language, other))
    return other if there > here else language
