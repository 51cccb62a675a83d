"""Build a packet of evidence from the result of a search: score the sentences as for quotes, widen them to passages,
and choose passages."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gnod.answers import line_citations, packet, quoting, structure
from gnod.answers.confidence import Confidence, assess
from gnod.answers.packet import Option, Packet, PacketSource
from gnod.answers.quotes import ReadText, ScoredUnit
from gnod.answers.quoting import QuoteDependencies, ScoredUnits
from gnod.answers.structure import Range
from gnod.answers.words import WeighedWords
from gnod.search.hybrid.budget import Stage
from gnod.search.hybrid.stages import HybridResult
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.types import source_line

# The default number of documents to read, and the number of their units that may become passages.
DOCUMENTS = 20
UNITS = 64
# The time to find sentences in these documents and to run the models: twice the time of quotes, which read half as many
# documents.
LIMIT_S = 1.0


class Place(NamedTuple):
    """Where a passage is. `line` to `end_line`: lines of the file. `heading`: the headings above it, joined by
    ` > `."""

    document: DocumentRow
    line: int
    end_line: int
    heading: str


class PassageText(NamedTuple):
    """`text` is an exact part of the document's canonical text. `lead`: the header of the table that `text` is from, or
    the line above the list, with its first line. `citation`: as in `line_citations`."""

    place: Place
    text: str
    citation: str
    lead: str
    lead_line: int | None
    score: float

    @property
    def in_context(self) -> str:
        """Return the text with its lead above it."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


class EvidenceLeftOut(NamedTuple):
    """Passages that were left out for one reason. `place`, `score`, `tokens`: of the best passage. `repeats`: the
    number, from 0, of the passage in the packet with the same text. `passages`: how many they are."""

    reason: packet.Reason
    place: Place
    score: float
    tokens: int
    repeats: int | None
    passages: int = 1


class EvidenceList(NamedTuple):
    """`tokens`: an upper estimate for all passages with their titles, addresses and headings. `confidence`: that the
    documents answer the question, computed as for quotes."""

    passages: list[PassageText]
    tokens: int
    left_out: list[EvidenceLeftOut]
    confidence: Confidence
    stages: list[Stage]


async def gather(
    dependencies: QuoteDependencies,
    question: str,
    found: HybridResult,
    *,
    max_tokens: int,
    limit_s: float = LIMIT_S,
) -> EvidenceList:
    """Return the packet of evidence from the documents found. `limit_s`: the time to score the sentences and run the
    models."""
    scored = await quoting.score(
        dependencies, question, found, limit_s=limit_s, documents=len(found.ranked), preselected=UNITS
    )
    started = time.monotonic()
    evidence = await dependencies.read(partial(_gather, found=found, scored=scored, max_tokens=max_tokens))
    ms = round((time.monotonic() - started) * 1000, 3)
    stage = Stage("evidence", True, ms, None, {"passages": len(evidence.passages), "tokens": evidence.tokens})
    return evidence._replace(stages=[*scored.stages, stage])


def _gather(connection: Connection, found: HybridResult, scored: ScoredUnits, max_tokens: int) -> EvidenceList:
    read = {unit.candidate.document.id: unit.candidate.document for unit in scored.units}
    sources = {
        id_: PacketSource(scored.collected.texts[id_].text, f"{document.title}\n{document.uri}")
        for id_, document in read.items()
    }
    words = scored.collected.words
    options = _options(scored.units, scored.collected.texts, words)
    confidence = assess(scored.units, words.total)
    chosen = packet.choose(options, sources, words.weights, max_tokens)
    passages = [_passage(read[part.document], sources[part.document].text, part) for part in chosen.passages]
    left_out = [
        EvidenceLeftOut(
            each.reason,
            _place(read[each.option.document], sources[each.option.document].text, each.option),
            *(round(each.option.score, 6), each.tokens, each.repeats),
        )
        for each in chosen.left_out
    ]
    left_out += _copies(connection, found, chosen, read, passages)
    return EvidenceList(passages, chosen.tokens, _merged(left_out), confidence, [])


def _options(units: Sequence[ScoredUnit], texts: Mapping[int, ReadText], words: WeighedWords) -> list[Option]:
    """Return the passages around the units. If several units are in one passage, it gets the first, which has the best
    score."""
    options: dict[tuple[int, int, int], Option] = {}
    for each in units:
        document, unit = each.candidate.document, each.candidate.unit
        read = texts[document.id]
        whole = structure.around(read.text, read.units, bisect_left(read.units, unit.start, key=lambda u: u.start))
        if (key := (document.id, whole.start, whole.end)) not in options:
            alone = structure.alone(read.text, unit)
            short = _option(each, read.text, alone, words) if alone != whole else None
            options[key] = _option(each, read.text, whole, words)._replace(short=short)
    return list(options.values())


def _option(scored: ScoredUnit, text: str, place: Range, words: WeighedWords) -> Option:
    document = scored.candidate.document
    shown = f"{place.heading}\n{text[slice(*place.lead)]}\n{text[place.start : place.end]}"
    return Option(document.id, *place, scored.score, words.find(shown, document.language))


def _passage(document: DocumentRow, text: str, chosen: Option) -> PassageText:
    low, high = chosen.lead
    place = _place(document, text, chosen)
    return PassageText(
        place=place,
        text=text[chosen.start : chosen.end],
        citation=line_citations.cite(document, text, place.line, place.end_line),
        lead=text[low:high],
        lead_line=_line(document, text, low) if high else None,
        score=round(chosen.score, 6),
    )


def _place(document: DocumentRow, text: str, part: Option) -> Place:
    return Place(document, _line(document, text, part.start), _line(document, text, part.end - 1), part.heading)


def _line(document: DocumentRow, text: str, at: int) -> int:
    return source_line(document.line_map, text.count("\n", 0, at) + 1)


def _copies(
    connection: Connection,
    found: HybridResult,
    chosen: Packet,
    read: Mapping[int, DocumentRow],
    passages: Sequence[PassageText],
) -> list[EvidenceLeftOut]:
    """Return the documents that were not read because they are copies of one in the packet."""
    first = {read[passage.document].mirror_hash: n for n, passage in reversed(list(enumerate(chosen.passages)))}
    unread = [document.id for document in found.ranked if document.id not in read]
    by_id = documents.by_ids(connection, unread)
    copies = [by_id[id_] for id_ in unread if id_ in by_id and by_id[id_].active]
    return [
        EvidenceLeftOut("repeats", passages[number].place._replace(document=copy), passages[number].score, 0, number)
        for copy in copies
        if (number := first.get(copy.mirror_hash)) is not None
    ]


def _merged(left_out: Sequence[EvidenceLeftOut]) -> list[EvidenceLeftOut]:
    """Return one entry for each reason: the first, which is the best, with the number of all passages."""
    merged: dict[packet.Reason, EvidenceLeftOut] = {}
    for each in left_out:
        known = merged.setdefault(each.reason, each._replace(passages=0))
        merged[each.reason] = known._replace(passages=known.passages + 1)
    return list(merged.values())
