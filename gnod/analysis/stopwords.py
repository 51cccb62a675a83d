"""Function words, which are left out of queries.

Short lists of closed word classes: articles, pronouns, prepositions, conjunctions, auxiliaries, question words. Lists
of other packages contain content words such as "test", "system" and "auth". Function words stay in the index and
in phrases, and in queries without other words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_WORDS = {
    # Prepositions and negations stay: in code and in commands they carry meaning ("read from stdin", "not in").
    "en": """a an the and or but of to do does did doing how what which who whom whose why when where is are was were
        be been being am i me my we our us you your he his she her it its they them their this that these those there
        here can could should would will shall may might must has have had having so than then too very just
        s t d m ll re ve""",
    "de": """der die das den dem des ein eine einer eines einem einen kein keine und oder aber doch denn weil dass daß
        wenn als wie wo was wer wem wen wessen warum wann welche welcher welches welchen ich mich mir du dich dir er
        ihn ihm sie ihr ihnen es wir uns euch man sich mein dein sein unser euer ihre ihren ihrem ihrer seine seinen
        seinem seiner dieser diese dieses diesem diesen jener jene jenes bin bist ist sind seid war waren wurde wurden
        wird werden worden habe hat haben hatte hatten kann können konnte muss müssen soll sollen will wollen darf
        nicht noch nur auch schon so sehr in im an am auf aus bei beim bis durch für gegen mit nach ohne seit über um
        unter von vom vor zu zum zur zwischen""",
    "fr": """le la les l un une des du de d au aux et ou mais donc or ni car si que qu qui quoi dont où quand comment
        pourquoi quel quelle quels quelles je j me m moi tu te t toi il elle on nous vous ils elles se s lui leur leurs
        mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces ça ne n pas plus est sont être était
        étaient été suis es sommes êtes ai as a avons avez ont avoir avait avaient peut peuvent fait faire
        à dans par pour en y sur sous avec sans entre vers chez""",
    "es": """el la los las un una unos unas lo al del de y e o u pero si que qué quién quien cual cuál cuáles cuando
        cuándo donde dónde como cómo por porque para con sin sobre entre hasta desde en a ante yo me mi tú te ti él
        ella nos nosotros vosotros ellos ellas se su sus mis tus este esta estos estas ese esa esos esas eso esto no
        es son ser era eran fue fueron está están estar estaba ha han haber hay había puede pueden más muy ya""",
    "it": """il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla
        in nel nella nei nelle con su sul sulla per tra fra e ed o ma se che chi cui quale quali quando dove come
        perché cosa io mi tu ti lui lei noi ci voi vi loro si suo sua suoi sue mio mia questo questa questi queste
        quello quella non è sono era erano essere stato ha hanno ho avere può possono più""",
    "pt": """o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela para com sem sobre entre até e
        ou mas se que quem qual quais quando onde como porque eu me mim tu te ele ela nós vós eles elas lhe seu sua
        seus suas este esta estes estas esse essa isso isto não é são ser era eram foi foram está estão estar há tem
        têm ter pode podem mais muito já ao à""",
    "nl": """de het een en of maar want als dan dat die dit deze wie wat waar wanneer waarom hoe welke ik mij me jij je
        hij hem zij ze haar wij we ons jullie hun zich mijn jouw zijn van in op aan met voor door over om onder tussen
        naar bij uit tot te is was waren wordt worden werd heeft hebben had kan kunnen moet moeten zal zullen niet
        geen nog ook er""",
    "ru": """и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от
        меня еще о из ему ли если или ни быть был была были этот эта это эти тот та те мы они их чем кто где когда
        почему какой какая какие который для при об до под над""",
    "hi": """का की के को में से पर और है हैं था थी थे यह वह ये वे इस उस इन उन कि जो तो ही भी ने एक या नहीं हो कर किया
        करना किस कौन क्या कब कहाँ कहां क्यों कैसे कितने कितना कितनी लिए साथ तक द्वारा अपने अपनी अपना गया गई गए होता
        होती होते हुआ हुई हुए रहा रही रहे सकता सकते सकती""",
    "sv": """och att det som en ett den de i på av för med till är var inte om har hade kan ska vill jag du han hon vi
        ni man sig sin sitt sina från eller men så vad vem när hur varför vilken vilka detta denna dessa""",
}

_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _WORDS.items()}

LANGUAGES = tuple(_BY_LANGUAGE)
ENGLISH_FUNCTION_WORDS = _BY_LANGUAGE["en"]


def of(language: str) -> frozenset[str]:
    """Return the function words of a language; empty if it has no list."""
    return _BY_LANGUAGE.get(language, frozenset())


def function_words(words: Iterable[str], languages: Sequence[str]) -> frozenset[str]:
    """Return the function words, in lower case, of the language (of `languages`) that has the most of them: `die` is
    one in a German question, but not in `die hard`."""
    present = {word.lower() for word in words}
    candidates = [present & of(language) for language in languages]
    best: frozenset[str] = frozenset(max(candidates, key=len, default=()))
    # In a query of two words, both may be relevant.
    return best if len(present) > 2 and len(best) < len(present) else frozenset()
