"""Word lists that show whether a sentence updates another one: closed classes in a few languages. Pure.

In other languages, only the shared and the differing words of two sentences count.
"""

from __future__ import annotations

from gnod.analysis.stemming import fold, normalise

# Words that mark something as new without saying what it is.
_RECENT = """
    now currently meanwhile nowadays recently today yesterday since anymore more longer new any days starting finally
    after all instead only still already tuesday another
    jetzt nun inzwischen mittlerweile seit gestern heute neuerdings ab sofort mehr noch nur doch statt anstatt
    sondern neu
    neue neuer neues schon bereits künftig
    ahora ya actualmente desde hoy ayer partir vez lugar sino nuevo nueva más
    maintenant désormais depuis aujourd'hui nouveau nouvelle plus lieu
    ora adesso ormai agora já nu sedan sinds
"""
# Verbs of change: the value that follows is the current one.
_CHANGED = """
    moved switched changed raised rose went cut updated upgraded replaced increased decreased dropped lowered took
    became
    renamed migrated up over down back
    umgezogen gewechselt geändert gestiegen gesunken gekürzt erhöht gesenkt aktualisiert ersetzt übernommen umbenannt
    wechselte stieg sank
    subió bajó cambió pasó pasa movió actualizó redujo aumentó reemplazó mudó trasladó renombró
    changé déménagé remplacé augmenté baissé passé
"""
# Verbs and titles that may differ between two sentences about the same property.
_LIGHT = """
    is are was were be been costs cost costing priced price runs run running uses use used has have had by kept
    mr mrs ms dr about approximately
    ist sind war wird werden wurde kostet kosten beträgt liegt hat haben herr frau heißt heisst läuft nutzt benutzt
    es son fue está están cuesta cuestan costar vale usa tiene se señor señora doctor pasa queda
    est sont coûte a monsieur madame
"""
_PREPOSITIONS = "to at with from in into on by of as than per"
# Words that name the month or day from which something is true.
_DATED = """
    january february march april may june july august september october november december spring summer autumn winter
    monday tuesday wednesday thursday friday saturday sunday year week month
    januar februar märz mai juni juli oktober dezember frühling sommer herbst montag dienstag mittwoch donnerstag
    freitag
    samstag sonntag jahr woche monat
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre primavera verano otoño
    lunes martes miércoles jueves viernes sábado domingo año semana mes
"""
# Roles that one person has at a time: the person is the value, even at the beginning of the sentence.
_ROLES = """
    owns owner owned responsible leads led lead manages manager managed maintains maintainer maintained reviews reviewer
    reviewed contact adviser advisor landlord engineer handles handled coordinates coordinator coordinated chairs
    duty call
    verantwortlich leitet leiterin leiter betreut besitzer besitzerin besitzt gehört ansprechpartner zuständig kümmert
    bereitschaft verwaltet vermieter steuerberater chefin chef koordiniert
    responsable dirige dueño dueña gestiona mantiene contacto asesor casero encargado encargada guardia coordina
    dirige responsable propriétaire gère
"""
# After these words, a text names what somebody is responsible for, not the person.
_IN_CHARGE = "responsible verantwortlich zuständig responsable encargado encargada responsabile verantwoordelijk"
# After these verbs, several values may be true at the same time, or each one is a separate event.
_ADDITIVE = """
    speaks knows read reads met likes prefers needs owns has have had visited bought learned taught plays includes eats
    drinks
    spricht kennt gelesen traf trafen getroffen mag braucht hat haben besuchte kaufte lernte spielt enthält isst trinkt
    habla conoce leyó conocimos gusta prefiere necesita tiene visitó compró aprendió toca incluye come bebe
    parle connaît lu aime
"""
# After these words, a text names the older value.
_INSTEAD = "instead statt anstatt vez lugar lieu anziché invés plaats"
# After these words, a text narrows the subject: the budget for travel is not the budget for hardware.
_PURPOSE = "for für para pour per voor för"


def _words(listed: str) -> frozenset[str]:
    return frozenset(form(word) for word in listed.split())


def form(word: str) -> str:
    """Return a word for comparison, without case and accents."""
    return fold(normalise(word))


RECENT = _words(_RECENT)
CHANGED = _words(_CHANGED)
LIGHT = _words(_LIGHT)
PREPOSITIONS = _words(_PREPOSITIONS)
DATED = _words(_DATED)
ROLES = _words(_ROLES)
IN_CHARGE = _words(_IN_CHARGE)
ADDITIVE = _words(_ADDITIVE)
INSTEAD = _words(_INSTEAD)
PURPOSE = _words(_PURPOSE)
