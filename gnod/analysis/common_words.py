"""Words by which a short text tells its language. Pure.

The commonest ones are the function words of `stopwords`, and here the most frequent words of languages that have none
there. Close languages are told apart by words that only one of them has: Bosnian and Croatian, and Indonesian and
Malay, share most of their words, and Hindi and Marathi their letters, so that the statistics of their letters are
nearly the same. Names of months, words of science and function words differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from gnod.analysis import stopwords

_WORDS = {
    "en": """
        about after all any as at back because been before between by for from got if in into just like more
        new no not off on one only other out over s same some t there through under until up use used uses was
        while with without yes
    """,
    "sv": """
        alla allt andra blev bli blir bara båda där då efter era eller finns fick får före gjorde gör hade
        hos hur inga ingen innan inte jag kom kommer man mer mig mot mycket måste nu när också ska skall
        skulle ställe under upp ut utan utanför vara varje vid vår våra även åt än är över
    """,
    "af": """
        aan as baie daar dié elke gaan haar hierdie hom hulle hy is jou kan kon maar met moet na nie nog nou
        om ons ook oor op ou sal sy tot toe uit van vir voor vyf was wat weer wees word 'n
    """,
    "bg": """
        а ако без беше ви все всеки всички върху го да два до докато е за защото и из или им има как като
        който която което които към ли между ми може на над не него нея ни но няма от повече под при само са
        се след си сме ще съм със тази така те този това той тя тях у че
    """,
    "be": """
        а або ад але былі было быў быць відаць гэта гэты дзе для да з за і ён іх калі каб каля на не ні па
        паміж пасля праз пра пры са самы толькі трэба у ў усе хто што яго як яна яны
    """,
    "bs": """
        a ako ali bez bi bih bila bili bilo bio da do dok ga gdje i ili im iz iza ja je jer još kad kada
        kako kao ke ko koja koje koji mi može na nakon ne nego nema nije njih o od on ona oni pa po pod pre
        prije s sa samo se si smo su šta što ta taj te to u uz već vi za zbog će
    """,
    "ca": """
        a al als amb aquest aquesta aquests aquestes bé cada com de del dels des després el els em en ens
        entre era és està estan et fa fer fins ha han hem he hi i jo l la les li lo més meva meu molt no
        nosaltres o on per però perquè pel pels què qui quan que sense ser seu seva si sobre són també tenen
        té tot tots un una uns va van vaig ja
    """,
    "cs": """
        a aby ale ani až bez bude budou by byl byla bylo byly být co do ho i já jak jako je jeho její jejich
        jen ještě ji jsem jsme jsou k kde kdo kdy když která které který ke má mají mezi mi na nad ne nebo
        není o od on ona oni po pod podle pokud pro proto protože před při s se si svůj ta tak také ten
        tento to tomu tu ty u už v ve však vše z za ze že
    """,
    "cy": """
        ac am ar beth bod cael chi ddim ei eich ein eu fod fy gael gan gyda hefyd hwn hyd hyn mae maent mewn mi mwy
        na nad neu ni nid oedd oes ond os pa pam pan rhaid roedd sut sydd sy wedi wrth y yma yn yng yr ydy yw
    """,
    "da": """
        af alle alt at blev blive bliver da de dem den denne deres det dette dig din du efter eller en end
        er et for fra få får ham han hans har havde hun hvad hver hvis hvor hvordan i ikke ind jeg jo kan
        kom kun kunne man med meget men mig mod må nogle nu når og også om op over på sig sin skal skulle
        som så til ud uden under var ved vi vil ville vores være været
    """,
    "eo": """
        al ankaŭ antaŭ ĉar ĉe ĉi ĉiu da de dum el en estas estis ĝi ĝis ili inter kaj ke kie kiel kiu kun la
        li mi ni ne nur ol per plej pli pri por post se sed sen ŝi sur tiu tio tra vi
    """,
    "et": """
        aga ainult alla ei ega ehk enne et ette ja juba järel ka kas kes koos kui kuid kus kõik kõige ma me
        meie mida millal mina minu mis miks mitte mu mõne need nii ning nüüd oli olid olema oma on ole ongi
        peab pole pärast sa saab seda see selle siis sinu ta te tema tuleb või väga üks üle
    """,
    "eu": """
        ala ari baino baina bat batean bere berri beste bezala da dago dagoen dira dituzte ditu diren dute
        du edo egin egon ere eta ez gabe gero gure hau hori izan izango kontra nahi ni nire non nola oso
        orain zen ziren zer zuen zuten
    """,
    "fi": """
        ei eikä eivät ennen että hän hänen ja jo joka jonka jos jotka kaikki kanssa kuin kun kuka kunnes
        koska me meidän mikä missä mitä mutta mukaan mun myös ne niin niitä nyt ole oli olivat olla on ovat
        pitää sai se sen sitä sitten siitä sinä tai tämä tällä tänään vain vielä voi voidaan vuoden yli minä
        minun milloin miten
    """,
    "ga": """
        ag agus an ar arna as atá ba bhí bhfuil chun cé cén conas do dá é faoi gach gan go i iad idir in is
        lá le leis ina mar mé mo na nach ní níl nó níos ó on roimh sa san sé seo sí sin siad táim tar tá tú
        um
    """,
    "hr": """
        ako ali bez bi bih bila bili bilo bio da dok ga gdje i ili im iz iza ja je jer još kad kada kako kao
        koja koje koji mi može na nakon ne nego nema nije njih od on ona oni pa po pod prije sa samo se si
        smo su što ta taj te to u uz već vi za zbog će
    """,
    "hu": """
        a addig ahol aki akkor ami amikor amit az azt be csak de egy egyik el és ez ezek ezt fel ha hanem
        hogy hol honnan így is itt ki kell le lehet lesz még meg mert mi mikor minden mint mit most már
        nagyon nem nincs ő ők olyan ott pedig s sem szerint után van vagy vagyok volt voltak utána előtt
        között
    """,
    "id": """
        ada adalah agar akan anda apa atau bagaimana bahwa belum bisa dalam dan dapat dari dengan di dia
        hanya harus ini itu jika juga kami kapan karena ke kita kepada lagi lebih mana mereka oleh orang
        pada sangat saat saya sebelum sebuah sedang seperti setelah setiap siapa sudah tahun tetapi tidak
        untuk yang
    """,
    "is": """
        að af allir á ekki en er eru eða eftir ég fyrir frá hann hafa hefur hún hvað hvar hver í með mjög nú
        og um sem sér sig svo til úr var vera verið við voru það þau þeir þessi þegar þá þú
    """,
    "la": """
        ad atque cum de enim esse est et etiam ex hic in non nunc per quae quam qui quod sed si sit sunt ut
        vel
    """,
    "lt": """
        apie ar arba aš bet bei bus būti buvo dabar dar dėl iki ir iš į jau jei ji jie jis jo jos jų kad kai
        kaip kas kur kuri kurie kuris labai metu mes ne nėra nes nei nuo o per po prie prieš savo su tai tas
        tik todėl tuo turi už yra šis šią ši visi
    """,
    "lv": """
        ar arī bet bija bez būs ir ja jau jo ka kā kas kad kur kura kuras katru līdz man mēs nav ne no nu pa
        par pēc pie pirms savu šī šis tā tas tie tika tikai uz un vai viņa viņš visi zem
    """,
    "mk": """
        а ако без беше во гo да до додека е за зошто и или им има како кога кој која кое кои кон ќе ли меѓу
        ми може на над не него неа ние но нема од повеќе под пред при само се сите со сме сум таа тоа тој
        тие што
    """,
    "ms": """
        ada adalah akan anda apa atau bagaimana bahawa belum boleh dalam dan dapat dari dengan di dia hanya
        harus ini itu jika juga kami kerana ke kita kepada lagi lebih mana mereka oleh orang pada sangat
        saya sebelum sebuah sedang seperti selepas setiap siapa sudah tahun tetapi tidak untuk yang
    """,
    "nb": """
        alle alt at av ble bli blir da de dem den denne deres det dette du eller en enn er et etter for fra
        får gå ham han hans har hadde hun hva hver hvis hvor hvordan hvem i ikke inn jeg kan kom kun kunne
        man med meg mer men min mot må noe noen nå når og også om opp over på seg sin skal skulle som så til
        ut uten under var ved vi vil ville være vært vår før
    """,
    "nn": """
        berre då dei eg ein eit frå gjere heile ho ikkje kor korfor korleis kva kvar kven kvifor meir nokon noko
        sidan vart vere
    """,
    "pl": """
        a aby ale ani bardzo bez będzie był była było były być co czy czym dla do gdy gdzie go i ich ja jak
        jako je jego jej jest jestem jeszcze już każdy kiedy kto która które który mam mi mnie może można
        musi na nad nas nie niż o od oraz po pod ponieważ przed przez przy są się ta tak także tam te tego
        ten to tu tylko tym u w we więc wszystkie z za ze że żeby
    """,
    "ro": """
        a acest această acum ai al ale am ar are asta atunci au avea ca când care că ce cel cele cine cu cum
        da dacă dar de decât deci despre din după e ei el este eu fi fie fost iar în înainte între la le lor
        lui mai mea mult ne nici noastră nostru nu o ori pe pentru prin sa să sale sau se spre sub sunt și
        şi toate un unde unei unui va vă voi
    """,
    "sk": """
        a aby ale ani až bez bol bola bolo boli bude budú by byť čo do ho i ich ja ako je jeho jej ešte iba
        keď kde kto ktorá ktoré ktorý má majú medzi mi na nad nie o od on ona oni po pod podľa pre preto
        pretože pred pri s sa si som sme sú ta tak tiež ten tento to tu ty u už v vo však všetko z za zo že
    """,
    "sl": """
        ali ampak bi bil bila bili bo bodo brez če da do ga in iz je jih kako kaj kdaj ker ki kje ko kot
        lahko med mi na nad ne ni o ob od on ona oni pa po pod pred pri sem se si smo so svoj ta tako tem to
        tudi v več vse z za zaradi že
    """,
    "so": """
        ah ama ay ayaa badan baa ee iyo ilaa inay ka kale kasta ku kuma la leh loo marka maxaa maxay oo sida sidee
        soo tahay ugu uu waa waxa waxaa waxay yahay
    """,
    "sq": """
        dhe do e ishte është i jam janë ka kam ke këtë kjo ku kur mbi me më mund nga në nëse një nuk o para
        për pas po që se si sipas te të tij tyre u
    """,
    "sr": """
        а ако али без би била били било био да до док га где и или им из иза ја је јер још кад када како као
        која које који ми може на након не него нема није њих о од он она они па по под пре с са само се си
        смо су та тај те то у уз већ ви за због ће шта што
    """,
    "sw": """
        baada bila hadi hata hii huo hiyo ili ina ingawa iko kabla kama katika kila kuhusu kutoka kutumia
        kuwa kwa kwamba lakini la mara mtu mwaka na ndani ni nini ambayo pamoja sana si tu wa wakati wao
        watu wote ya yake yao za zote
    """,
    "tl": """
        ako ang at ay ba bago dahil din hindi isang ito ka kapag kay kung mas may mga na ng ngunit nang nasa
        ni niya pa para sa si sila siya sino upang wala
    """,
    "tr": """
        ama ancak bana başka belki ben beni benim bir biraz biri biz bu bunu bütün çok çünkü da daha de
        değil diye en gibi göre hangi hem her hiç için ile ilgili ise kadar kendi ki kim mi mı mu mü nasıl
        ne neden nerede o olan olarak oldu olduğu olduğunu on onu onun önce sadece sen siz sonra şey şu
        tarafından tüm üzerinde var ve veya ya yok
    """,
    "uk": """
        а або але без був була було були бути в вже від він вона вони все всі всіх де для до є з за і із її
        його коли краще кожен ми може на над не немає ні о під після по при про раз та так також те ти
        тільки то того треба у хто це цей ця чи ще що щоб як який яка які я
    """,
    "ur": """
        اور ان اس اگر ایک بعد بھی پر تک تو جو جب سے کا کب کر کرنے کہ کو کون کی کیا کیوں کے میں نہیں نے والے
        وہ ہر ہو ہوئی ہے ہیں تھا تھی تھے یا یہ
    """,
    "fa": """
        آن آنها از است اگر او این با بر برای بود به بین تا چه چرا چون خود در دو را شد شده شود کجا که کرد کند
        کنید کی ما من می نمی نه نیست هر هم هنوز و ولی یا یک
    """,
    "ar": """
        أن إلى الذي التي إذا أو بعد بين ثم حتى عن على عند عندما في قبل قد كان كانت كل كما لا لم لن ما متى مع
        من منذ هذا هذه هل هو هي هنا و يكون كيف أين لماذا
    """,
    "mr": """
        आणि आहे आहेत हा ही हे ते ती तो मध्ये नाही काय कोण कधी कसे किंवा च्या ला ने व या त्या होते होता
    """,
}
# Beginnings of words by language. An underscore ends a whole word.
_BEGINNINGS_OF_CLOSE = {
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
_BEGINNINGS = {language: tuple(words.split()) for language, words in _BEGINNINGS_OF_CLOSE.items()}
# Characters that may be next to a word.
_PUNCTUATION = ".,;:!?()[]\"'“”„‘’«»–—…।"
_WORD = re.compile(r"[^\W\d_]+")
# A language has clearly more words if it leads by half a word that no other has.
_CLEAR = 0.5


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def is_of(word: str, language: str) -> bool:
    """Tell whether a word, in lower case, is one of the commonest of a language."""
    return language in _languages_by_word().get(word, ())


def scores(text: str, languages: Sequence[str]) -> dict[str, float]:
    """Return how many of its different words each language has; a word counts the less, the more of them have it."""
    found = dict.fromkeys(languages, 0.0)
    known = _languages_by_word()
    for word in set(words(text.lower())):
        having = [code for code in known.get(word, ()) if code in found]
        for code in having:
            found[code] += 1 / len(having)
    return found


def language_of(words: Iterable[str]) -> str | None:
    """Return the language that clearly has more of these words, in lower case, than any other.

    >>> language_of("what is a canvas".split()), language_of(["mermaid", "diagram"]), language_of(["so", "in"])
    ('en', None, None)
    """
    known = _languages_by_word()
    found: dict[str, float] = {}
    for having in filter(None, map(known.get, words)):
        for code in having:
            found[code] = found.get(code, 0.0) + 1 / len(having)
    best = max(found, key=lambda code: found[code], default=None)
    second = max((score for code, score in found.items() if code != best), default=0.0)
    return best if best and found[best] - second >= _CLEAR else None


def is_common(word: str) -> bool:
    """Tell whether a word, in lower case, is one of the commonest of any language."""
    return word in _languages_by_word()


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


@cache
def _languages_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for code in sorted({*_WORDS, *stopwords.LANGUAGES}):
        for word in stopwords.of(code) | {*_WORDS.get(code, "").split()}:
            found.setdefault(word, []).append(code)
    return found
